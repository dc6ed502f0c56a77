#include <cstring>
#include <utility>

#include "lanista/io/data/readers.h"

namespace lanista::data {
namespace {

constexpr std::uint64_t kMaxSideCar = std::uint64_t{1} << 16;
constexpr std::int64_t kMaxContext = std::int64_t{1} << 16;

/// How the bytes of a file encode tokens.
struct TokenEncoding {
  std::string dtype;       ///< bytes | u16 | u32
  std::int64_t vocab = 0;  ///< 0: not given
};

/// The side-car "text.json" or "text.bin.json" of "text.bin".
Result<TokenEncoding> sidecar_path(const ReadRequest& request, const std::string& path) {
  TokenEncoding out;
  std::string car = path.substr(0, path.size() - 4) + ".json";
  if (!request.fs->exists(car)) car = path + ".json";
  if (!request.fs->exists(car)) return out;
  LANISTA_ASSIGN(const std::string text, load_file(*request.fs, car, kMaxSideCar));
  const auto described = nlohmann::json::parse(text, nullptr, false);
  if (!described.is_object() || !described.contains("vocab") || !described["vocab"].is_number_integer() ||
      !described.contains("dtype") || !described["dtype"].is_string()) {
    return Error{Code::kDataLoss, "expected {\"vocab\": number of tokens, \"dtype\": \"u16\" or \"u32\"}", car};
  }
  out.dtype = described["dtype"].get<std::string>();
  out.vocab = described["vocab"].get<std::int64_t>();
  if ((out.dtype != "u16" && out.dtype != "u32") || out.vocab < 2 || out.vocab > kMaxVocab) {
    return Error{Code::kDataLoss,
                 "dtype \"" + out.dtype.substr(0, 32) + "\" and vocab " + std::to_string(out.vocab) +
                     "; allowed are u16 and u32, and 2 to " + std::to_string(kMaxVocab),
                 car};
  }
  return out;
}

Result<TokenEncoding> encoding_of(const ReadRequest& request, const std::string& path) {
  const Source& source = request.source;
  TokenEncoding out;
  if (path.ends_with(".bin")) {
    LANISTA_ASSIGN(out, sidecar_path(request, path));
    if (out.dtype.empty() && !source.value("dtype")) {
      return with_file(source.error("dtype= is missing, and there is no side-car " + stem_of(path) + ".json"), path);
    }
  }
  if (source.value("dtype")) {
    LANISTA_ASSIGN(out.dtype, source.choice("dtype", {"bytes", "u16", "u32"}));
  }
  if (out.dtype.empty()) out.dtype = "bytes";
  const std::int64_t usual = out.vocab > 0 ? out.vocab : out.dtype == "bytes" ? 256 : 0;
  LANISTA_ASSIGN(out.vocab, source.integer("vocab", usual, 2, kMaxVocab));
  if (request.expected_spec != nullptr) out.vocab = request.expected_spec->classes;
  if (out.vocab == 0) return source.error("vocab= is missing: how many tokens there are");
  return out;
}

/// Token numbers from little-endian bytes.
class TokenFile {
 public:
  TokenFile(std::string_view bytes, const std::string& dtype)
      : bytes_(bytes),
        size_(dtype == "bytes" ? 1
              : dtype == "u16" ? 2
                               : 4) {}
  bool is_whole() const { return bytes_.size() % size_ == 0; }
  std::int64_t count() const { return static_cast<std::int64_t>(bytes_.size() / size_); }
  std::uint32_t at(std::int64_t i) const {
    std::uint32_t token = 0;
    std::memcpy(&token, bytes_.data() + static_cast<std::size_t>(i) * size_, size_);
    return token;
  }

 private:
  std::string_view bytes_;
  std::size_t size_;
};

/// How a text becomes rows of `context` tokens. Either the token after a window is predicted, and windows share none.
/// Or the token after every token is, and a window begins with the last token that the previous one predicts.
struct WindowOptions {
  std::int64_t context = 0;
  bool predicts_every_position = false;

  std::int64_t stride() const { return predicts_every_position ? context : context + 1; }
  std::int64_t rows_of(std::int64_t tokens) const {
    return tokens > context ? (tokens - context - 1) / stride() + 1 : 0;
  }
};

/// Without the token after it, a window has no labels.
Result<void> cut_windows(const TokenFile& tokens, const WindowOptions& cut, std::int64_t vocab, std::int64_t rows,
                         RawData& raw) {
  const std::int64_t context = cut.context;
  const bool alone = tokens.count() == context;
  raw.features.reserve(static_cast<std::size_t>(rows * context));
  const std::int64_t used = alone ? context : (rows - 1) * cut.stride() + context + 1;
  for (std::int64_t i = 0; i < used; ++i) {
    const std::uint32_t token = tokens.at(i);
    if (token >= vocab) {
      return Error{Code::kDataLoss,
                   "token " + std::to_string(i) + " is " + std::to_string(token) + ", the vocabulary has " +
                       std::to_string(vocab),
                   ""};
    }
    const bool is_label = cut.predicts_every_position ? i > 0 && !alone : i % cut.stride() == context;
    const bool is_feature = cut.predicts_every_position ? i < rows * context : !is_label;
    if (is_label) raw.labels.push_back(static_cast<std::int32_t>(token));
    if (is_feature) raw.features.push_back(static_cast<float>(token));
  }
  return {};
}

}  // namespace

Result<LoadedRows> read_tokens(const ReadRequest& request) {
  const Source& source = request.source;
  if (source.argument.empty()) return source.error("expected a file, tokens:FILE?context=64");
  const std::string path = request.path(source.argument);
  std::int64_t context = 0;
  LANISTA_ASSIGN(context, source.integer("context", 64, 1, kMaxContext));
  if (request.expected_spec != nullptr) context = request.expected_spec->features.elements_per_sample();
  WindowOptions cut{.context = context};
  LANISTA_ASSIGN(const std::string task, source.choice("task", {"last_token", "next_token"}));
  cut.predicts_every_position = task == "next_token";
  if (request.expected_spec != nullptr) cut.predicts_every_position = request.expected_spec->positions > 0;
  LANISTA_ASSIGN(const std::int64_t max_rows, source.integer("rows", INT32_MAX, 1, INT32_MAX));
  LANISTA_ASSIGN(const TokenEncoding encoding, encoding_of(request, path));
  LANISTA_ASSIGN(const std::string bytes, load_file(*request.fs, path));
  const TokenFile tokens(bytes, encoding.dtype);
  if (!tokens.is_whole()) {
    return Error{Code::kDataLoss, std::to_string(bytes.size()) + " bytes are no whole " + encoding.dtype + " numbers",
                 path};
  }
  const bool alone = request.expected_spec != nullptr && tokens.count() == context;
  const std::int64_t rows = alone ? 1 : std::min(cut.rows_of(tokens.count()), max_rows);
  if (rows == 0) {
    return Error{
        Code::kDataLoss,
        std::to_string(tokens.count()) + " tokens make no window of " + std::to_string(context) + " and the next one",
        path};
  }
  if (rows > kMaxFeatures / context) {
    return Error{Code::kResourceExhausted,
                 std::to_string(rows) + " windows of " + std::to_string(context) + " tokens are more than " +
                     std::to_string(kMaxFeatures) + " numbers; take fewer with rows=",
                 path};
  }
  LoadedRows found;
  found.is_sequential = true;
  DataSpec& spec = found.raw.spec;
  spec.name = stem_of(path);
  spec.features.dims = {context};
  spec.classes = spec.vocab = encoding.vocab;
  if (cut.predicts_every_position) spec.positions = context;
  if (auto done = cut_windows(tokens, cut, encoding.vocab, rows, found.raw); !done)
    return with_file(done.error(), path);
  return found;
}

}  // namespace lanista::data
