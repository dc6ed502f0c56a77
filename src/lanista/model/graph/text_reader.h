#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"

namespace lanista::graph {

/// Reads one line of the text form from left to right; for parse and parse_edit. Errors: kInvalidArgument with
/// "line:column" in `where` (columns count bytes, from 1).
class LineReader {
 public:
  LineReader(std::string_view line, std::size_t number) : line_(line), number_(number) {}

  void skip_space();
  /// Nothing left but spaces and a comment.
  bool at_end();
  /// Consumes `c` after spaces, if it stands there.
  bool take(char c);
  Result<void> expect(char c);
  /// Letters, digits and underscores, no digit in front; empty if there is none. Not consumed by peek_word.
  std::string_view peek_word();
  Result<std::string> word(std::string_view what);
  /// A decimal number of at most `most`, without sign.
  Result<std::uint32_t> natural(std::string_view what, std::uint32_t most);
  Result<NodeId> node_id();  ///< "%3"
  Result<Port> port();       ///< "%3" or "%3.1"
  Result<AttrValue> value();
  Result<std::string> string();
  /// "%1 = op(%0, name=value) "label"".
  Result<Node> node();
  Result<void> expect_end();

  /// An error at the present place, or at an earlier one.
  Error error(const std::string& message) const { return error_at(at_, message); }
  Error error_at(std::size_t at, const std::string& message) const;
  std::size_t position() const { return at_; }

 private:
  char peek() const { return at_ < line_.size() ? line_[at_] : '\0'; }
  Result<void> argument(Node& node);
  Result<AttrValue> number();
  Result<AttrValue> list();
  std::string seen() const;  ///< what stands here, for messages

  std::string_view line_;
  std::size_t number_;
  std::size_t at_ = 0;
};

}  // namespace lanista::graph
