#include "lanista/io/formats/npy_header.h"

#include <charconv>
#include <set>

namespace lanista::formats {
namespace {

/// A cursor over the text. Each reader moves it past what it has read.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  Error error(const std::string& expected) const {
    const std::string seen = position_ < text_.size() ? "'" + std::string(1, text_[position_]) + "'" : "its end";
    return {Code::kDataLoss,
            "npy: header at character " + std::to_string(position_) + ": expected " + expected + ", found " + seen, ""};
  }

  void skip_space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
  }

  bool peek(char c) {
    skip_space();
    return position_ < text_.size() && text_[position_] == c;
  }

  bool consume(char c) {
    if (!peek(c)) return false;
    ++position_;
    return true;
  }

  Result<void> expect(char c) {
    if (consume(c)) return {};
    return error("'" + std::string(1, c) + "'");
  }

  bool at_end() {
    skip_space();
    return position_ == text_.size();
  }

  /// A text in single or double quotes, without escapes.
  Result<std::string> quoted() {
    skip_space();
    const char quote = peek('"') ? '"' : '\'';
    LANISTA_TRY(expect(quote));
    const std::size_t end = text_.find(quote, position_);
    if (end == std::string_view::npos) return error("a closing quote");
    const std::string_view content = text_.substr(position_, end - position_);
    if (content.find('\\') != std::string_view::npos) return error("a text without escapes");
    position_ = end + 1;
    return std::string(content);
  }

  Result<bool> boolean() {
    skip_space();
    for (const std::string_view word : {std::string_view("True"), std::string_view("False")}) {
      if (text_.substr(position_, word.size()) == word) {
        position_ += word.size();
        return word == "True";
      }
    }
    return error("True or False");
  }

  /// "(3, 4)", "(3,)" or "()"; old files write "3L".
  Result<std::vector<std::int64_t>> tuple() {
    std::vector<std::int64_t> numbers;
    LANISTA_TRY(expect('('));
    while (!consume(')')) {
      std::int64_t number = 0;
      const auto [end, failed] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), number);
      if (failed != std::errc() || number < 0) return error("a dimension from 0 to 2^63 - 1");
      position_ = static_cast<std::size_t>(end - text_.data());
      if (position_ < text_.size() && text_[position_] == 'L') ++position_;
      if (numbers.size() == kMaxNpyRank) return error("at most " + std::to_string(kMaxNpyRank) + " dimensions");
      numbers.push_back(number);
      if (!peek(')')) LANISTA_TRY(expect(','));
      skip_space();
    }
    return numbers;
  }

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view text) {
  NpyHeader header;
  std::set<std::string> seen;
  Cursor cursor(text);
  LANISTA_TRY(cursor.expect('{'));
  while (!cursor.consume('}')) {
    LANISTA_ASSIGN(const std::string key, cursor.quoted());
    LANISTA_TRY(cursor.expect(':'));
    if (!seen.insert(key).second) return cursor.error("every key once, \"" + key + "\" stands twice");
    if (key == "descr") {
      if (cursor.peek('[')) {
        return Error{Code::kUnimplemented, "npy: structured dtypes are refused; save one plain array a file", ""};
      }
      LANISTA_ASSIGN(header.descr, cursor.quoted());
    } else if (key == "fortran_order") {
      LANISTA_ASSIGN(header.fortran_order, cursor.boolean());
    } else if (key == "shape") {
      LANISTA_ASSIGN(header.shape, cursor.tuple());
    } else {
      return cursor.error("one of descr, fortran_order, shape, not \"" + key.substr(0, 64) + "\"");
    }
    if (!cursor.peek('}')) LANISTA_TRY(cursor.expect(','));
  }
  if (!cursor.at_end()) return cursor.error("nothing behind '}'");
  if (seen.size() != 3) return cursor.error("all of descr, fortran_order, shape");
  return header;
}

}  // namespace lanista::formats
