#include "lanista/io/formats/npy_header.h"

#include <set>

#include "lanista/base/text_cursor.h"

namespace lanista::formats {
namespace {

/// Reads the text of a header.
class HeaderReader : public TextCursor {
 public:
  explicit HeaderReader(std::string_view text) : TextCursor(text, " \n") {}

  Error error(const std::string& expected) const {
    return {Code::kDataLoss,
            "npy: header at character " + std::to_string(position()) + ": expected " + expected + ", found " +
                found(1, "its end"),
            ""};
  }

  Result<void> expect(const std::string& token) {
    if (accept(token)) return {};
    return error("'" + token + "'");
  }

  /// A text in single or double quotes, without escapes.
  Result<std::string> quoted_text() {
    if (!next_is("\"") && !next_is("'")) return error("'''");
    const std::size_t begin = position() + 1;
    const auto content = quoted();
    if (content && content->find('\\') == std::string_view::npos) return std::string(*content);
    move_to(begin);
    return error(content ? "a text without escapes" : "a closing quote");
  }

  Result<bool> boolean() {
    if (accept("True")) return true;
    if (accept("False")) return false;
    return error("True or False");
  }

  /// "(3, 4)", "(3,)" or "()"; old files write "3L".
  Result<std::vector<std::int64_t>> tuple() {
    std::vector<std::int64_t> numbers;
    LANISTA_TRY(expect("("));
    while (!accept(")")) {
      const auto dimension = number<std::int64_t>(0);
      if (!dimension) return error("a dimension from 0 to 2^63 - 1");
      if (peek() == 'L') advance(1);
      if (numbers.size() == kMaxNpyRank) return error("at most " + std::to_string(kMaxNpyRank) + " dimensions");
      numbers.push_back(*dimension);
      if (!next_is(")")) LANISTA_TRY(expect(","));
    }
    return numbers;
  }
};

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view text) {
  NpyHeader header;
  std::set<std::string> seen;
  HeaderReader reader(text);
  LANISTA_TRY(reader.expect("{"));
  while (!reader.accept("}")) {
    LANISTA_ASSIGN(const std::string key, reader.quoted_text());
    LANISTA_TRY(reader.expect(":"));
    if (!seen.insert(key).second) return reader.error("every key once, \"" + key + "\" stands twice");
    if (key == "descr") {
      if (reader.next_is("[")) {
        return Error{Code::kUnimplemented, "npy: structured dtypes are refused; save one plain array a file", ""};
      }
      LANISTA_ASSIGN(header.descr, reader.quoted_text());
    } else if (key == "fortran_order") {
      LANISTA_ASSIGN(header.fortran_order, reader.boolean());
    } else if (key == "shape") {
      LANISTA_ASSIGN(header.shape, reader.tuple());
    } else {
      return reader.error("one of descr, fortran_order, shape, not \"" + key.substr(0, 64) + "\"");
    }
    if (!reader.next_is("}")) LANISTA_TRY(reader.expect(","));
  }
  reader.skip_blanks();
  if (!reader.rest().empty()) return reader.error("nothing behind '}'");
  if (seen.size() != 3) return reader.error("all of descr, fortran_order, shape");
  return header;
}

}  // namespace lanista::formats
