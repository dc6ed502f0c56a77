#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lanista::stored_formats {

/// A token of C++ source text. Comments and preprocessor lines give no tokens.
struct Token {
  enum class Kind { kName, kNumber, kString, kSign };
  Kind kind = Kind::kSign;
  std::string text;  ///< of a string: its literal text between the quotes, with escapes as in the source

  bool is(std::string_view sign_or_name) const { return kind != Kind::kString && text == sign_or_name; }
  bool is_string() const { return kind == Kind::kString; }
};

/// The tokens of a source. `->` and `::` are one token each, all other signs are one character. The white space of a
/// raw string becomes single spaces. Complexity: linear.
std::vector<Token> tokens_of(std::string_view source);

}  // namespace lanista::stored_formats
