#include "lanista/model/graph/text_reader.h"

// With sanitizers, g++ 12 warns that moving a variant reads alternatives that it does not have.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <cmath>
#include <utility>
#include <vector>

#include "lanista/base/parse_number.h"
#include "lanista/base/utf8.h"
#include "lanista/model/graph/size_limits.h"

namespace lanista::graph {
namespace {

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Error LineReader::error_at(std::size_t at, const std::string& message) const {
  return Error{Code::kInvalidArgument, message, std::to_string(number_) + ":" + std::to_string(at + 1)};
}

std::string LineReader::seen() const {
  return rest().empty() ? std::string("the end of the line") : in_quotes(rest().substr(0, 1));
}

bool LineReader::at_end() { return next_is("#") || rest().empty(); }

Result<void> LineReader::expect(std::string_view token) {
  if (accept(token)) return {};
  return error("expected " + in_quotes(token) + ", found " + seen());
}

Result<void> LineReader::expect_end() {
  if (at_end()) return {};
  return error("expected the end of the line, found " + seen());
}

Result<std::string> LineReader::word(std::string_view what) {
  const std::string_view found = peek_name();
  if (found.empty()) return error("expected " + std::string(what) + ", found " + seen());
  if (found.size() > kMaxStringLength) return error(std::string(what) + " is longer than 4096 bytes");
  advance(found.size());
  return std::string(found);
}

Result<std::uint32_t> LineReader::natural(std::string_view what, std::uint32_t most) {
  const std::size_t begin = position();
  const std::string_view digits = read_while(is_digit);
  if (digits.empty()) return error("expected " + std::string(what) + ", found " + seen());
  const auto value = parse_number<std::uint32_t>(digits);
  if (value && *value <= most) return *value;
  return error_at(begin, std::string(what) + " is larger than " + std::to_string(most));
}

Result<NodeId> LineReader::node_id() {
  LANISTA_TRY(expect("%"));
  LANISTA_ASSIGN(const std::uint32_t id, natural("a node number", kMaxNodeId));
  return NodeId{id};
}

Result<Port> LineReader::port() {
  LANISTA_ASSIGN(const NodeId id, node_id());
  if (peek() != '.') return Port{id, 0};
  advance(1);
  LANISTA_ASSIGN(const std::uint32_t slot, natural("an output number", kMaxNodeId));
  return Port{id, slot};
}

Result<std::string> LineReader::string() {
  skip_blanks();
  const std::size_t begin = position();
  if (!accept("\"")) return error("expected a string in quotes, found " + seen());
  std::string out;
  for (; !rest().empty(); advance(1)) {
    if (out.size() > kMaxStringLength) return error_at(begin, "the string is longer than 4096 bytes");
    char c = peek();
    if (c == '"') {
      advance(1);
      if (find_invalid_utf8(out) != std::string::npos) return error_at(begin, "the string is not UTF-8");
      return out;
    }
    if (c == '\\') {
      const std::size_t escape = position();
      advance(1);
      c = peek();
      if (c == 'n') {
        c = '\n';
      } else if (c == 't') {
        c = '\t';
      } else if (c == 'x') {
        const int high = rest().size() > 1 ? hex_value(rest()[1]) : -1;
        const int low = rest().size() > 2 ? hex_value(rest()[2]) : -1;
        if (high < 0 || low < 0) return error_at(escape, "\\x needs two hexadecimal digits");
        c = static_cast<char>(high * 16 + low);
        advance(2);
      } else if (c != '"' && c != '\\') {
        return error_at(escape, "unknown escape; known: \\\" \\\\ \\n \\t \\xHH");
      }
    }
    out += c;
  }
  return error_at(begin, "the string has no closing quote");
}

Result<AttrValue> LineReader::number() {
  const std::size_t begin = position();
  const bool negative = accept("-");
  const std::size_t digits = position();
  bool real = false;
  while (is_digit(peek()) || peek() == '.' || peek() == 'e' || peek() == 'E' ||
         ((peek() == '-' || peek() == '+') && (text()[position() - 1] == 'e' || text()[position() - 1] == 'E'))) {
    real = real || !is_digit(peek());
    advance(1);
  }
  if (position() == digits) return error_at(begin, "expected a value, found " + (negative ? in_quotes("-") : seen()));
  const std::string_view number = text().substr(begin, position() - begin);
  if (const auto value = parse_number<std::int64_t>(number)) return AttrValue(*value);
  if (const auto value = parse_number<double>(number); value && real && std::isfinite(*value)) return AttrValue(*value);
  return error_at(begin, in_quotes(number) + (real ? " is not a number" : " is not a 64-bit integer"));
}

Result<AttrValue> LineReader::list() {
  std::vector<std::int64_t> values;
  LANISTA_TRY(expect("["));
  if (accept("]")) return AttrValue(std::move(values));
  do {
    skip_blanks();
    const std::size_t begin = position();
    LANISTA_ASSIGN(const AttrValue value, number());
    const auto* integer = std::get_if<std::int64_t>(&value);
    if (integer == nullptr) return error_at(begin, "a list holds integers");
    if (values.size() == kMaxListLength) return error_at(begin, "a list has at most 64 elements");
    values.push_back(*integer);
  } while (accept(","));
  LANISTA_TRY(expect("]"));
  return AttrValue(std::move(values));
}

Result<AttrValue> LineReader::value() {
  if (next_is("[")) return list();
  if (next_is("\"")) {
    LANISTA_ASSIGN(std::string text, string());
    return AttrValue(std::move(text));
  }
  const std::string_view found = peek_name();
  if (found.empty()) return number();
  if (found != "true" && found != "false") {
    return error("unknown value " + in_quotes(found.substr(0, 64)) + "; strings must be in quotes");
  }
  advance(found.size());
  return AttrValue(found == "true");
}

Result<void> LineReader::argument(Node& node) {
  skip_blanks();
  const std::size_t begin = position();
  if (peek() == '%') {
    if (!node.attrs.empty()) return error("inputs must be before attributes");
    if (node.inputs.size() == kMaxTextInputs) return error("a node has at most 64 inputs");
    LANISTA_ASSIGN(const Port source, port());
    node.inputs.push_back(source);
    return {};
  }
  LANISTA_ASSIGN(const std::string name, word("an input or an attribute"));
  LANISTA_TRY(expect("="));
  LANISTA_ASSIGN(AttrValue given, value());
  if (node.attrs.find(name) != nullptr) return error_at(begin, "attribute " + name + " is given twice");
  if (static_cast<std::size_t>(node.attrs.end() - node.attrs.begin()) == kMaxAttrs) {
    return error_at(begin, "a node has at most 64 attributes");
  }
  node.attrs.set(name, std::move(given));
  return {};
}

Result<Node> LineReader::node() {
  Node node;
  LANISTA_ASSIGN(node.id, node_id());
  LANISTA_TRY(expect("="));
  LANISTA_ASSIGN(node.op, word("an operator"));
  LANISTA_TRY(expect("("));
  if (!accept(")")) {
    do {
      LANISTA_TRY(argument(node));
    } while (accept(","));
    LANISTA_TRY(expect(")"));
  }
  if (!at_end() && peek() == '"') {
    LANISTA_ASSIGN(node.label, string());
  }
  LANISTA_TRY(expect_end());
  return node;
}

}  // namespace lanista::graph
