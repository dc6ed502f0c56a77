#include "support/io/formats/test_zip.h"

#include <zlib.h>

namespace lanista::formats::test {
namespace {

std::string packed_by_zlib(std::string_view bytes, int window) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

std::string deflated(std::string_view bytes) { return packed_by_zlib(bytes, -MAX_WBITS); }
std::string gzipped(std::string_view bytes) { return packed_by_zlib(bytes, 16 + MAX_WBITS); }

std::string little(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i, value >>= 8) out += static_cast<char>(value & 0xFFU);
  return out;
}

std::string zip(const std::vector<ZipFile>& files, const std::string& comment) {
  const auto or_true = [](std::int64_t given, std::uint64_t truth) {
    return given < 0 ? truth : static_cast<std::uint64_t>(given);
  };
  std::string out, directory;
  for (const ZipFile& file : files) {
    const std::string data = file.deflate ? deflated(file.data) : file.data;
    const std::uint64_t crc =
        crc32(0, reinterpret_cast<const Bytef*>(file.data.data()), static_cast<uInt>(file.data.size()));
    const std::string local_name = file.local_name.empty() ? file.name : file.local_name;
    const std::string common = little(static_cast<std::uint64_t>(file.flags), 2) +
                               little(or_true(file.method, file.deflate ? 8 : 0), 2) + little(0, 4) +
                               little(or_true(file.crc, crc), 4) + little(or_true(file.packed, data.size()), 4) +
                               little(or_true(file.unpacked, file.data.size()), 4);
    directory += "PK\1\2" + little(20, 2) + little(20, 2) + common + little(file.name.size(), 2) + little(0, 12) +
                 little(or_true(file.offset, out.size()), 4) + file.name;
    out += "PK\3\4" + little(20, 2) + common + little(local_name.size(), 2) + little(file.local_extra.size(), 2) +
           local_name + file.local_extra + data;
  }
  const std::string end = "PK\5\6" + little(0, 4) + little(files.size(), 2) + little(files.size(), 2) +
                          little(directory.size(), 4) + little(out.size(), 4) + little(comment.size(), 2) + comment;
  return out + directory + end;
}

}  // namespace lanista::formats::test
