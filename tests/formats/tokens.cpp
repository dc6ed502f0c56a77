#include "formats/tokens.h"

#include <cctype>

namespace lanista::stored_formats {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string with_single_spaces(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (!is_space(c)) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<Token> all() {
    while (at_ < text_.size()) next();
    return std::move(out_);
  }

 private:
  bool begins(std::string_view with) const { return text_.substr(at_).starts_with(with); }

  void next() {
    const char c = text_[at_];
    if (c == '\n' || is_space(c)) {
      line_begins_ = line_begins_ || c == '\n';
      ++at_;
      return;
    }
    const bool first = line_begins_;
    line_begins_ = false;
    if (begins("//") || (first && c == '#')) {
      skip_line();
    } else if (begins("/*")) {
      at_ = std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 2;
    } else if (begins("R\"")) {
      raw_string();
    } else if (c == '"') {
      add(Token::Kind::kString, std::string(quoted('"')));
    } else if (c == '\'') {
      add(Token::Kind::kSign, "'" + std::string(quoted('\'')) + "'");
    } else if (is_digit(c)) {
      std::size_t end = at_;
      while (end < text_.size() && (is_name_char(text_[end]) || text_[end] == '.' || text_[end] == '\'')) ++end;
      add_token(Token::Kind::kNumber, end);
    } else if (is_name_char(c)) {
      std::size_t end = at_;
      while (end < text_.size() && is_name_char(text_[end])) ++end;
      add_token(Token::Kind::kName, end);
    } else {
      add_token(Token::Kind::kSign, at_ + (begins("->") || begins("::") ? 2 : 1));
    }
  }

  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2 : 1;
  }

  void raw_string() {
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return skip_line();
    const std::string end = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
    const std::size_t close = std::min(text_.find(end, open), text_.size());
    add(Token::Kind::kString, with_single_spaces(text_.substr(open + 1, close - open - 1)));
    at_ = std::min(close + end.size(), text_.size());
  }

  /// The text between two quotes; moves behind the second one.
  std::string_view quoted(char quote) {
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != quote) at_ += text_[at_] == '\\' ? 2 : 1;
    const std::size_t end = std::min(at_, text_.size());
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  void add_token(Token::Kind kind, std::size_t end) {
    add(kind, std::string(text_.substr(at_, end - at_)));
    at_ = end;
  }
  void add(Token::Kind kind, std::string text) { out_.push_back({kind, std::move(text)}); }

  std::string_view text_;
  std::size_t at_ = 0;
  bool line_begins_ = true;
  std::vector<Token> out_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) { return Reader(source).all(); }

}  // namespace lanista::stored_formats
