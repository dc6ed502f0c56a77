#pragma once

#include <charconv>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace lanista {

/// Whether `c` is one of 0 to 9.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// Whether a name may begin with `c`: an ASCII letter or an underscore.
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
/// Returns `text` without the `blanks` at its begin and its end.
std::string_view trim(std::string_view text, std::string_view blanks = " \t");

/// A position in a text, which a parser moves from the begin to the end of the text.
class TextCursor {
 public:
  /// Starts at the begin of `text`. `blanks` are the characters without meaning between words. The cursor keeps views
  /// of both, which must live as long as the cursor.
  explicit TextCursor(std::string_view text, std::string_view blanks = " \t") : text_(text), blanks_(blanks) {}

  /// The whole text.
  std::string_view text() const { return text_; }
  /// The text from the position on.
  std::string_view rest() const { return text_.substr(at_); }
  /// The number of bytes before the position.
  std::size_t position() const { return at_; }
  /// The next character; NUL at the end.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  /// The next characters in single quotes, at most `most`; `at_end` at the end of the text. It is for messages.
  std::string found(std::size_t most, std::string_view at_end) const;

  /// Moves to byte `position`, which is at most the size of the text.
  void move_to(std::size_t position) { at_ = position; }
  /// Skips `bytes` bytes, which are at most the size of the rest.
  void advance(std::size_t bytes) { at_ += bytes; }
  /// Skips blanks.
  void skip_blanks();
  /// Skips blanks. True if the rest begins with `token`.
  bool next_is(std::string_view token);
  /// Skips blanks, and `token` if the rest begins with it. True if it does.
  bool accept(std::string_view token);
  /// Skips and returns the next characters for which `belongs` is true. It skips no blanks.
  std::string_view read_while(bool (*belongs)(char));
  /// Skips blanks, and returns the next name: letters, digits and underscores, no digit first. Empty if there is none.
  /// The name is not skipped.
  std::string_view peek_name();
  /// Skips and returns a number in the notation of std::from_chars. It skips no blanks. Returns nullopt and skips
  /// nothing if the rest begins with something else, or if the number is below `least` or does not fit into `Number`.
  template <class Number>
  std::optional<Number> number(Number least = std::numeric_limits<Number>::lowest()) {
    Number number{};
    const auto read = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (read.ec != std::errc() || number < least) return std::nullopt;
    move_to(static_cast<std::size_t>(read.ptr - text_.data()));
    return number;
  }
  /// Skips the next character, which is a quote, and all up to the same quote. Returns the text between them. Returns
  /// nullopt and skips nothing if the same quote does not follow.
  std::optional<std::string_view> quoted();

 private:
  std::string_view text_, blanks_;
  std::size_t at_ = 0;
};

}  // namespace lanista
