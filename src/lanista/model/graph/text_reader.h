#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"

namespace lanista::graph {

/// Reads one line of the text form from left to right, for `parse` and `parse_edit`.
///
/// Each function that returns a `Result` consumes what it returns, after spaces.
/// Errors: kInvalidArgument with "line:column" in `where`. Columns count bytes from 1.
class LineReader {
 public:
  /// Reads `line`, which must live as long as the reader. `number` is its line number for errors.
  LineReader(std::string_view line, std::size_t number) : line_(line), number_(number) {}

  /// Consumes spaces.
  void skip_space();
  /// Whether only spaces and a comment are left.
  bool at_end();
  /// Consumes `c`, after spaces, if it is the next character. Returns whether it did.
  bool take(char c);
  /// Consumes `c`, after spaces. Another character is an error.
  Result<void> expect(char c);
  /// The next identifier (letters, digits, underscores, no digit first), or empty. It is not consumed.
  std::string_view peek_word();
  /// Reads an identifier. `what` describes it in the error message.
  Result<std::string> word(std::string_view what);
  /// Reads a decimal number without sign, at most `most`. `what` describes it in the error message.
  Result<std::uint32_t> natural(std::string_view what, std::uint32_t most);
  /// Reads a node id, such as %3.
  Result<NodeId> node_id();
  /// Reads a port, such as %3 or %3.1.
  Result<Port> port();
  /// Reads the value of an attribute.
  Result<AttrValue> value();
  /// Reads a string in quotes and resolves its escapes.
  Result<std::string> string();
  /// Reads a whole node up to the end of the line, such as %1 = op(%0, name=value) "label".
  Result<Node> node();
  /// Checks that only spaces and a comment are left.
  Result<void> expect_end();

  /// Returns an error at the current position.
  Error error(const std::string& message) const { return error_at(at_, message); }
  /// Returns an error at byte `at` of the line, counted from 0.
  Error error_at(std::size_t at, const std::string& message) const;
  /// The number of bytes consumed so far.
  std::size_t position() const { return at_; }

 private:
  char peek() const { return at_ < line_.size() ? line_[at_] : '\0'; }
  Result<void> argument(Node& node);
  Result<AttrValue> number();
  Result<AttrValue> list();
  std::string seen() const;  ///< the next characters, for error messages

  std::string_view line_;
  std::size_t number_;
  std::size_t at_ = 0;
};

}  // namespace lanista::graph
