#include "lanista/ipc/numbered_text.h"

#include "lanista/base/text_cursor.h"

namespace lanista::engine {

std::string with_token(std::uint64_t token, std::string_view text) {
  std::string out = std::to_string(token) + "\n";
  return out.append(text);
}

Result<TokenMessage> split_token(const std::string& text) {
  TextCursor cursor(text, "");
  const auto token = cursor.number<std::uint64_t>();
  if (!token || !cursor.accept("\n")) return Error{Code::kDataLoss, "a message without the number of its lease", ""};
  return TokenMessage{*token, std::string(cursor.rest())};
}

}  // namespace lanista::engine
