#include "memory_bombs.h"

#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/csv.h"
#include "lanista/base/file_system.h"
#include "lanista/base/frame.h"
#include "lanista/io/formats/gzip.h"
#include "lanista/io/formats/idx.h"
#include "lanista/io/formats/image.h"
#include "lanista/io/formats/npy.h"
#include "lanista/io/formats/npz.h"
#include "lanista/io/formats/onnx/onnx.h"
#include "lanista/io/formats/onnx/wire.h"
#include "lanista/io/formats/safetensors.h"
#include "lanista/io/store/log.h"
#include "lanista/io/studyfile/study_file.h"
#include "lanista/model/graph/text.h"

namespace lanista {
namespace {

// Inputs.

std::string repeated(std::string_view piece, std::size_t bytes) {
  std::string out;
  out.reserve(bytes + piece.size());
  while (out.size() < bytes) out += piece;
  return out;
}

/// Returns `head` and then `count` pieces that are made from their numbers.
std::string numbered(std::string head, std::size_t count, const std::function<std::string(std::string)>& piece) {
  for (std::size_t i = 0; i < count; ++i) head += piece(std::to_string(i));
  return head;
}

std::string safetensors(const std::string& header, const std::string& data = "") {
  std::string out;
  for (std::size_t i = 0; i < 8; ++i) out += static_cast<char>(header.size() >> (8 * i) & 255U);
  return out + header + data;
}

std::string npy(const std::string& shape) {
  const std::string text = "{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }\n";
  std::string out = std::string("\x93NUMPY\2\0", 8);
  for (std::size_t i = 0; i < 4; ++i) out += static_cast<char>(text.size() >> (8 * i) & 255U);
  return out + text;
}

std::string log_of(const std::vector<std::string>& payloads) {
  std::string out;
  encode_frame(1, R"({"schema":1})", out);
  for (const auto& payload : payloads) encode_frame(4, payload, out);
  return out;
}

std::string many_records(std::string_view payload, std::size_t bytes) {
  std::string frame;
  encode_frame(4, payload, frame);
  return log_of({}) + repeated(frame, bytes);
}

std::string gzipped(const std::string& plain) {
  std::string out(compressBound(plain.size()) + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string png_header(std::uint32_t width, std::uint32_t height) {
  const auto big = [](std::uint32_t v) {
    std::string out;
    for (int i = 3; i >= 0; --i) out += static_cast<char>(v >> (8 * i) & 255U);
    return out;
  };
  const auto chunk = [&](const std::string& body) {
    const auto crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
    return big(static_cast<std::uint32_t>(body.size() - 4)) + body + big(static_cast<std::uint32_t>(crc));
  };
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR" + big(width) + big(height) + std::string("\x08\x02\0\0\0", 5)) +
         chunk("IDAT" + std::string(1000, 'x'));
}

std::string onnx(const std::string& graph) {
  return formats::WireWriter().varint(1, 8).bytes(7, graph).bytes(8, std::string_view("\x10\x11", 2)).str();
}

// Parsers.

bool study(const std::string& bytes) { return studyfile::read_study(bytes, "study.yaml").ok(); }
bool csv(const std::string& bytes) { return formats::parse_csv(bytes).ok(); }
bool graph_text(const std::string& bytes) { return graph::parse(bytes).ok(); }
bool onnx_model(const std::string& bytes) { return formats::decode_onnx(bytes).ok(); }
bool log(const std::string& bytes) {
  FileSystem& fs = real_file_system();
  const std::string folder =
      std::filesystem::temp_directory_path().string() + "/lanista_memory_caps." + std::to_string(getpid());
  const std::string file = folder + "/log/000001.log";
  const bool read = fs.make_folder(folder + "/log").ok() && fs.write_file(file, std::as_bytes(std::span(bytes))).ok() &&
                    store::read_log(fs, folder).ok();
  std::filesystem::remove_all(folder);
  return read;
}
template <class Decode>
auto with(Decode decode) {
  return [decode](const std::string& bytes) { return decode(bytes).ok(); };
}

std::vector<HostileInput> yaml_bombs() {
  const auto aliases = [] {
    std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 12; ++i) {
      const std::string before = "*a" + std::to_string(i - 1);
      text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
      for (int k = 0; k < 8; ++k) text += ", " + before;
      text += "]\n";
    }
    return text + "space: {params: {lr: *a11}}\ntrain: {metrics: *a11}\n";
  };
  return {
      {"study file", "open lists", [] { return repeated("[,", kMiB - 2); }, study},
      {"study file", "nested lists", [] { return repeated("[", kMiB - 1); }, study},
      {"study file", "nested maps", [] { return repeated("{a: ", kMiB - 4); }, study},
      {"study file", "nested blocks", [] { return repeated("- ", kMiB - 2); }, study},
      {"study file", "one flat list", [] { return "a: [" + repeated("a,", kMiB - 8) + "]"; }, study},
      {"study file", "one flat map",
       [] { return numbered("", 80'000, [](const std::string& n) { return "k" + n + ": \n"; }); }, study},
      {"study file", "empty values", [] { return "a: [" + repeated("~,", kMiB - 8) + "]"; }, study},
      {"study file", "lists at the limit", [] { return repeated("[,", 19'000); }, study},
      {"study file", "a map at the limit",
       [] { return numbered("", 9'900, [](const std::string& n) { return "k" + n + ": \n"; }); }, study},
      {"study file", "giant texts at the limit",
       [] {
         return numbered("", 9'900, [](const std::string& n) { return "k" + n + ": " + std::string(90, 'x') + "\n"; });
       },
       study},
      {"study file", "aliases of aliases", aliases, study},
      {"study file", "one giant key", [] { return std::string(kMiB - 8, 'k') + ": 1"; }, study},
      {"study file", "one giant text", [] { return "name: \"" + std::string(kMiB - 16, 'k') + "\""; }, study},
      {"study file", "calls", [] { return "space: {params: {lr: " + repeated("log(", kMiB - 64) + "}}"; }, study},
  };
}

std::vector<HostileInput> weight_bombs() {
  const auto decode = with(formats::decode_safetensors);
  const auto entry = [](const std::string& name, const std::string& shape, std::size_t begin, std::size_t end) {
    return "\"" + name + R"(":{"dtype":"U8","shape":)" + shape + R"(,"data_offsets":[)" + std::to_string(begin) + "," +
           std::to_string(end) + "]},";
  };
  const auto whole = [](std::string inside) {
    inside.back() = '}';
    return safetensors("{" + inside);
  };
  return {
      {"safetensors", "nested lists", [] { return safetensors("{\"a\":" + repeated("[", 16 * kMiB - 8)); }, decode},
      {"safetensors", "deep shape",
       [] { return safetensors(R"({"a":{"dtype":"U8","shape":)" + repeated("[", 15 * kMiB)); }, decode},
      {"safetensors", "50,000 tensors",
       [=] { return whole(numbered("", 50'000, [&](const std::string& n) { return entry("t" + n, "[0]", 0, 0); })); },
       decode, true},
      {"safetensors", "too many tensors",
       [=] { return whole(numbered("", 150'000, [&](const std::string& n) { return entry("t" + n, "[0]", 0, 0); })); },
       decode},
      {"safetensors", "overlapping",
       [=] {
         std::string inside =
             numbered("", 40'000, [&](const std::string& n) { return entry("t" + n, "[1048576]", 0, kMiB); });
         inside.back() = '}';
         return safetensors("{" + inside, std::string(kMiB, 'x'));
       },
       decode},
      {"safetensors", "metadata",
       [] {
         const std::string head = R"({"__metadata__":{)";
         std::string inside = numbered(head, 1'300'000, [](const std::string& n) { return "\"" + n + "\":\"\","; });
         inside.back() = '}';
         return safetensors(inside + "}");
       },
       decode},
      {"safetensors", "one giant name", [=] { return whole(entry(std::string(15 * kMiB, 'n'), "[0]", 0, 0)); }, decode,
       true},
      {"safetensors", "many dimensions", [=] { return whole(entry("a", "[" + repeated("1,", 8 * kMiB) + "1]", 0, 1)); },
       decode},
      {"safetensors", "lying length", [] { return std::string("\xFF\xFF\xFF\0\0\0\0\0{}", 10); }, decode},
      {"npy", "huge dimensions", [] { return npy("(99999999999, 99999999)"); }, with(formats::decode_npy)},
      {"npy", "one huge dimension", [] { return npy("(1152921504606846975,)"); }, with(formats::decode_npy)},
      {"npy", "zero times huge", [] { return npy("(0, 9223372036854775807, 2)"); }, with(formats::decode_npy)},
      {"npy", "many dimensions", [] { return npy("(" + repeated("1,", kMiB - 100) + ")"); }, with(formats::decode_npy)},
      {"npy", "giant header", [] { return npy(repeated(" ", 8 * kMiB)); }, with(formats::decode_npy)},
      {"npy", "bytes held as int32",
       [] {
         const std::string text = "{'descr': '|i1', 'fortran_order': True, 'shape': (4096, 4096), }\n";
         std::string out = std::string("\x93NUMPY\1\0", 8) + static_cast<char>(text.size()) + '\0' + text;
         return out + std::string(16 * kMiB, '\1');
       },
       with(formats::decode_npy), true},
  };
}

std::vector<HostileInput> table_bombs() {
  return {
      {"csv", "commas", [] { return repeated(std::string(9'999, ',') + "\n", 16 * kMiB); }, csv, true},
      {"csv", "pairs of nothing", [] { return repeated(",\n", 16 * kMiB); }, csv, true},
      {"csv", "newlines", [] { return "a,b\n1,2" + std::string(16 * kMiB, '\n'); }, csv, true},
      {"csv", "only newlines", [] { return std::string(16 * kMiB, '\n'); }, csv},
      {"csv", "one comma line", [] { return std::string(16 * kMiB, ','); }, csv},
      {"csv", "one quoted cell", [] { return "a\n\"" + std::string(16 * kMiB, 'x') + "\"\n"; }, csv, true},
      {"csv", "an open quote", [] { return "a\n\"" + std::string(16 * kMiB, 'x'); }, csv},
      {"csv", "quotes", [] { return "a\n\"" + std::string(16 * kMiB, '"') + "\"\n"; }, csv, true},
      {"csv", "100,000 columns", [] { return repeated(repeated("1,", 200'000) + "1\n", 8 * kMiB); }, csv},
      {"csv", "digits", [] { return repeated("1\n", 16 * kMiB); }, csv, true},
  };
}

std::vector<HostileInput> model_bombs() {
  const auto nodes = [](std::size_t count, const std::string& rest) {
    return numbered("", count, [&](const std::string& n) { return "%" + n + "=a(" + rest + ")\n"; });
  };
  std::string attrs, list;
  for (int i = 0; i < 64; ++i)
    attrs += std::string(i == 0 ? "" : ",") + static_cast<char>(i < 26 ? 'a' + i : 'A' + i % 26) + (i < 52 ? "" : "1") +
             "=1";
  for (int i = 0; i < 64; ++i) list += i == 0 ? "1" : ",1";
  return {
      {"graph text", "a million nodes", [=] { return nodes(1'000'000, ""); }, graph_text},
      {"graph text", "100,000 nodes", [=] { return nodes(100'000, ""); }, graph_text, true},
      {"graph text", "64 inputs each", [=] { return nodes(100'000, repeated("%0,", 63 * 3) + "%0"); }, graph_text,
       true},
      {"graph text", "64 attributes each", [=] { return nodes(100'000, attrs); }, graph_text},
      {"graph text", "lists of 64",
       [=] { return nodes(100'000, "a=[" + list + "],b=[" + list + "],c=[" + list + "]"); }, graph_text, true},
      {"graph text", "inputs on one line", [] { return "%0=a(" + repeated("%0,", 16 * kMiB); }, graph_text},
      {"graph text", "a giant word", [] { return "%0=" + std::string(16 * kMiB, 'a') + "()"; }, graph_text},
      {"graph text", "a giant string", [] { return "%0=a(b=\"" + std::string(16 * kMiB, 'a'); }, graph_text},
      {"graph text", "newlines", [] { return std::string(16 * kMiB, '\n'); }, graph_text, true},
      {"onnx", "a million nodes", [] { return onnx(repeated(std::string_view("\x0a\0", 2), 2'000'000)); }, onnx_model},
      {"onnx", "a million weights", [] { return onnx(repeated(std::string_view("\x2a\0", 2), 2'000'000)); },
       onnx_model},
      {"onnx", "a million inputs", [] { return onnx(repeated(std::string_view("\x5a\0", 2), 2'000'000)); }, onnx_model},
      {"onnx", "inputs of one node",
       [] {
         const std::string node = repeated(std::string_view("\x0a\0", 2), 4 * kMiB);
         return onnx(formats::WireWriter().bytes(1, node).str());
       },
       onnx_model},
      {"onnx", "packed dimensions",
       [] {
         const std::string dims = formats::WireWriter().bytes(1, std::string(4 * kMiB, '\1')).str();
         return onnx(formats::WireWriter().bytes(5, dims).str());
       },
       onnx_model},
      {"onnx", "nested messages",
       [] {
         std::string inner;
         for (int i = 0; i < 2'000; ++i) inner = formats::WireWriter().bytes(1, inner).str();
         return onnx(inner);
       },
       onnx_model},
  };
}

std::vector<HostileInput> log_bombs() {
  const std::string lies = std::string("\0\0\x40\0\4\0\0\0", 8);  // every eighth byte claims four megabytes
  return {
      {"log", "lying length", [] { return log_of({}) + std::string("\xFF\xFF\xFF\x03\4\0\0\0x", 9); }, log, true},
      {"log", "many lying lengths", [=] { return log_of({}) + repeated(lies, 16 * kMiB); }, log},
      {"log", "lists in a list", [] { return log_of({"[" + repeated("[],", 64 * kMiB - 8) + "1]"}); }, log},
      {"log", "numbers in a list", [] { return log_of({"[" + repeated("1,", 64 * kMiB - 8) + "1]"}); }, log},
      {"log", "nested lists", [] { return log_of({repeated("[", 64 * kMiB)}); }, log},
      {"log", "nested maps", [] { return log_of({repeated("{\"\":", 64 * kMiB - 8)}); }, log},
      {"log", "keys",
       [] {
         std::string text = numbered("{", 500'000, [](const std::string& n) { return "\"" + n + "\":1,"; });
         text.back() = '}';
         return log_of({text});
       },
       log},
      {"log", "one giant text", [] { return log_of({"\"" + std::string(64 * kMiB - 8, 'x') + "\""}); }, log, true},
      {"log", "as many values as there may be", [] { return log_of({"[" + repeated("[],", 3 * 499'990) + "1]"}); }, log,
       true},
      {"log", "tiny records", [] { return many_records("1", 16 * kMiB); }, log, true},
      {"log", "zeros", [] { return log_of({}) + std::string(16 * kMiB, '\0'); }, log, true},
  };
}

std::vector<HostileInput> packed_bombs() {
  const auto gunzip = [](const std::string& bytes) { return formats::gunzip(bytes, std::uint64_t{1} << 40).ok(); };
  const std::string record = std::string("PK\1\2", 4) + std::string(42, '\0');
  return {
      {"gzip", "zeros, 1000:1", [] { return gzipped(std::string(512 * kMiB, '\0')); }, gunzip},
      {"gzip", "empty members", [] { return repeated(gzipped(""), 4 * kMiB); }, gunzip, true},
      {"idx", "zeros, 1000:1",
       [] { return gzipped(std::string("\0\0\x08\2\0\0\x80\0\0\0\x40\0", 12) + std::string(512 * kMiB, '\0')); },
       with(formats::decode_idx)},
      {"idx", "lying sizes", [] { return std::string("\0\0\x0E\3", 4) + std::string(12, '\xFF') + "x"; },
       with(formats::decode_idx)},
      {"npz", "a directory of nothing",
       [=] {
         const std::string directory = repeated(record, 46 * 65'000);
         std::string end = std::string("PK\5\6\0\0\0\0", 8) + std::string("\xE8\xFD\xE8\xFD", 4);
         for (std::size_t i = 0; i < 4; ++i) end += static_cast<char>(directory.size() >> (8 * i) & 255U);
         return directory + end + std::string(6, '\0');
       },
       with(formats::decode_npz)},
      {"image", "png of 2^31 x 2^31", [] { return png_header(0x7FFFFFFF, 0x7FFFFFFF); },
       with([](std::string_view bytes) { return formats::decode_image(bytes, {.applies_orientation = true}); })},
      {"image", "png of 65500 x 65500", [] { return png_header(65'500, 65'500); },
       with([](std::string_view bytes) { return formats::decode_image(bytes, {.applies_orientation = true}); })},
      {"image", "png of 4096 x 4096", [] { return png_header(4'096, 4'096); },
       with([](std::string_view bytes) { return formats::decode_image(bytes, {.applies_orientation = true}); })},
      {"image", "jpeg of 65500 x 65500",
       [] {
         return std::string("\xFF\xD8\xFF\xC0\0\x11\x08\xFF\xDC\xFF\xDC\3\1\x22\0\2\x11\0\3\x11\0", 21) +
                std::string(1000, 'x');
       },
       with([](std::string_view bytes) { return formats::decode_image(bytes, {.applies_orientation = true}); })},
  };
}

}  // namespace

std::vector<HostileInput> all_hostile_inputs() {
  std::vector<HostileInput> all;
  for (auto* make : {&yaml_bombs, &weight_bombs, &table_bombs, &model_bombs, &log_bombs, &packed_bombs}) {
    for (HostileInput& hostile_input : (*make)()) all.push_back(std::move(hostile_input));
  }
  return all;
}

}  // namespace lanista
