#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/base/text_cursor.h"
#include "lanista/model/graph/graph.h"

namespace lanista::graph {

/// Reads one line of the text form from left to right, for `parse` and `parse_edit`.
///
/// Each function that returns a `Result`, except natural(), skips spaces, then consumes the text that it reads.
/// Errors: kInvalidArgument for a text that does not fit, with "line:column" in `where`. Columns count bytes from 1.
class LineReader : public TextCursor {
 public:
  /// Reads `line`, which must live as long as the reader. `number` is the line number for errors, from 1.
  LineReader(std::string_view line, std::size_t number) : TextCursor(line, " \t\r"), number_(number) {}

  /// Skips spaces. True if only a comment or nothing is left.
  bool at_end();
  /// Skips spaces and consumes `token`. Any other text is an error.
  Result<void> expect(std::string_view token);
  /// Reads an identifier. `what` names the expected thing in the error message.
  Result<std::string> word(std::string_view what);
  /// Reads a decimal number without sign, which must be at most `most`. It does not skip spaces. `what` names the
  /// expected thing in the error message.
  Result<std::uint32_t> natural(std::string_view what, std::uint32_t most);
  /// Reads a node id, such as %3.
  Result<NodeId> node_id();
  /// Reads a port, such as %3 or %3.1.
  Result<Port> port();
  /// Reads the value of an attribute, as `attr_text` writes it.
  Result<AttrValue> value();
  /// Reads a string in double quotes, and returns it without quotes and with its escapes resolved. The result must be
  /// UTF-8 of at most 4096 bytes.
  Result<std::string> string();
  /// Reads a node up to the end of the line, such as %1 = op(%0, name=value) "label".
  Result<Node> node();
  /// Checks that only spaces and a comment are left. Anything else is an error.
  Result<void> expect_end();

  /// Makes a kInvalidArgument error with this message at the current position.
  Error error(const std::string& message) const { return error_at(position(), message); }
  /// Makes a kInvalidArgument error with this message at byte `at` of the line, counted from 0.
  Error error_at(std::size_t at, const std::string& message) const;

 private:
  Result<void> argument(Node& node);
  Result<AttrValue> number();
  Result<AttrValue> list();
  std::string seen() const;  ///< the next characters, for error messages

  std::size_t number_;
};

}  // namespace lanista::graph
