#include "lanista/ipc/numbered_text.h"

#include <charconv>

namespace lanista::engine {

std::string with_token(std::uint64_t token, std::string_view text) {
  std::string out = std::to_string(token) + "\n";
  return out.append(text);
}

Result<TokenMessage> split_token(const std::string& text) {
  TokenMessage out;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out.token);
  if (read.ec != std::errc() || read.ptr == end || *read.ptr != '\n') {
    return Error{Code::kDataLoss, "a message without the number of its lease", ""};
  }
  out.text.assign(read.ptr + 1, end);
  return out;
}

}  // namespace lanista::engine
