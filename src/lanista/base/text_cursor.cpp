#include "lanista/base/text_cursor.h"

#include <algorithm>

namespace lanista {

std::string_view trim(std::string_view text, std::string_view blanks) {
  text = text.substr(0, text.find_last_not_of(blanks) + 1);
  return text.substr(std::min(text.find_first_not_of(blanks), text.size()));
}

std::string TextCursor::found(std::size_t most, std::string_view at_end) const {
  return rest().empty() ? std::string(at_end) : "'" + std::string(rest().substr(0, most)) + "'";
}

void TextCursor::skip_blanks() { at_ = std::min(text_.find_first_not_of(blanks_, at_), text_.size()); }

bool TextCursor::next_is(std::string_view token) {
  skip_blanks();
  return rest().starts_with(token);
}

bool TextCursor::accept(std::string_view token) {
  if (!next_is(token)) return false;
  advance(token.size());
  return true;
}

std::string_view TextCursor::read_while(bool (*belongs)(char)) {
  const std::string_view left = rest();
  const auto end = std::ranges::find_if_not(left, belongs);
  advance(static_cast<std::size_t>(end - left.begin()));
  return {left.begin(), end};
}

std::string_view TextCursor::peek_name() {
  skip_blanks();
  if (!is_letter(peek())) return {};
  const std::size_t begin = at_;
  const std::string_view name = read_while([](char c) { return is_letter(c) || is_digit(c); });
  at_ = begin;
  return name;
}

std::optional<std::string_view> TextCursor::quoted() {
  const std::size_t end = rest().empty() ? std::string_view::npos : text_.find(peek(), at_ + 1);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view content = text_.substr(at_ + 1, end - at_ - 1);
  at_ = end + 1;
  return content;
}

}  // namespace lanista
