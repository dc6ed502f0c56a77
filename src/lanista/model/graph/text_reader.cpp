#include "lanista/model/graph/text_reader.h"

// With sanitizers, g++ 12 warns that moving a variant reads alternatives that it does not have.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "lanista/base/utf8.h"
#include "lanista/model/graph/size_limits.h"

namespace lanista::graph {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

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
  return at_ < line_.size() ? in_quotes(line_.substr(at_, 1)) : std::string("the end of the line");
}

void LineReader::skip_space() {
  while (peek() == ' ' || peek() == '\t' || peek() == '\r') ++at_;
}

bool LineReader::at_end() {
  skip_space();
  return at_ >= line_.size() || line_[at_] == '#';
}

bool LineReader::take(char c) {
  skip_space();
  if (at_ >= line_.size() || line_[at_] != c) return false;
  ++at_;
  return true;
}

Result<void> LineReader::expect(char c) {
  if (take(c)) return {};
  return error("expected " + in_quotes(std::string_view(&c, 1)) + ", found " + seen());
}

Result<void> LineReader::expect_end() {
  if (at_end()) return {};
  return error("expected the end of the line, found " + seen());
}

std::string_view LineReader::peek_word() {
  skip_space();
  if (!is_letter(peek())) return {};
  std::size_t end = at_;
  while (end < line_.size() && (is_letter(line_[end]) || is_digit(line_[end]))) ++end;
  return line_.substr(at_, end - at_);
}

Result<std::string> LineReader::word(std::string_view what) {
  const std::string_view found = peek_word();
  if (found.empty()) return error("expected " + std::string(what) + ", found " + seen());
  if (found.size() > kMaxStringLength) return error(std::string(what) + " is longer than 4096 bytes");
  at_ += found.size();
  return std::string(found);
}

Result<std::uint32_t> LineReader::natural(std::string_view what, std::uint32_t most) {
  const std::size_t begin = at_;
  while (is_digit(peek())) ++at_;
  if (at_ == begin) return error("expected " + std::string(what) + ", found " + seen());
  std::uint32_t value = 0;
  const auto parsed = std::from_chars(line_.data() + begin, line_.data() + at_, value);
  if (parsed.ec == std::errc() && value <= most) return value;
  return error_at(begin, std::string(what) + " is larger than " + std::to_string(most));
}

Result<NodeId> LineReader::node_id() {
  LANISTA_TRY(expect('%'));
  LANISTA_ASSIGN(const std::uint32_t id, natural("a node number", kMaxNodeId));
  return NodeId{id};
}

Result<Port> LineReader::port() {
  LANISTA_ASSIGN(const NodeId id, node_id());
  if (peek() != '.') return Port{id, 0};
  ++at_;
  LANISTA_ASSIGN(const std::uint32_t slot, natural("an output number", kMaxNodeId));
  return Port{id, slot};
}

Result<std::string> LineReader::string() {
  skip_space();
  const std::size_t begin = at_;
  if (peek() != '"') return error("expected a string in quotes, found " + seen());
  std::string out;
  for (++at_; at_ < line_.size(); ++at_) {
    if (out.size() > kMaxStringLength) return error_at(begin, "the string is longer than 4096 bytes");
    char c = line_[at_];
    if (c == '"') {
      ++at_;
      if (find_invalid_utf8(out) != std::string::npos) return error_at(begin, "the string is not UTF-8");
      return out;
    }
    if (c == '\\') {
      const std::size_t escape = at_++;
      c = peek();
      if (c == 'n') {
        c = '\n';
      } else if (c == 't') {
        c = '\t';
      } else if (c == 'x') {
        const int high = at_ + 1 < line_.size() ? hex_value(line_[at_ + 1]) : -1;
        const int low = at_ + 2 < line_.size() ? hex_value(line_[at_ + 2]) : -1;
        if (high < 0 || low < 0) return error_at(escape, "\\x needs two hexadecimal digits");
        c = static_cast<char>(high * 16 + low);
        at_ += 2;
      } else if (c != '"' && c != '\\') {
        return error_at(escape, "unknown escape; known: \\\" \\\\ \\n \\t \\xHH");
      }
    }
    out += c;
  }
  return error_at(begin, "the string has no closing quote");
}

Result<AttrValue> LineReader::number() {
  const std::size_t begin = at_;
  if (peek() == '-') ++at_;
  const std::size_t digits = at_;
  bool real = false;
  while (is_digit(peek()) || peek() == '.' || peek() == 'e' || peek() == 'E' ||
         ((peek() == '-' || peek() == '+') && (line_[at_ - 1] == 'e' || line_[at_ - 1] == 'E'))) {
    real = real || !is_digit(peek());
    ++at_;
  }
  const char* first = line_.data() + begin;
  const char* last = line_.data() + at_;
  if (at_ == digits) return error_at(begin, "expected a value, found " + (at_ == begin ? seen() : in_quotes("-")));
  if (!real) {
    std::int64_t value = 0;
    const auto parsed = std::from_chars(first, last, value);
    if (parsed.ec == std::errc() && parsed.ptr == last) return AttrValue(value);
  } else {
    double value = 0;
    const auto parsed = std::from_chars(first, last, value);
    if (parsed.ec == std::errc() && parsed.ptr == last && std::isfinite(value)) return AttrValue(value);
  }
  return error_at(begin, in_quotes(std::string_view(first, static_cast<std::size_t>(last - first))) +
                             (real ? " is not a number" : " is not a 64-bit integer"));
}

Result<AttrValue> LineReader::list() {
  std::vector<std::int64_t> values;
  LANISTA_TRY(expect('['));
  if (take(']')) return AttrValue(std::move(values));
  do {
    skip_space();
    const std::size_t begin = at_;
    LANISTA_ASSIGN(const AttrValue value, number());
    const auto* integer = std::get_if<std::int64_t>(&value);
    if (integer == nullptr) return error_at(begin, "a list holds integers");
    if (values.size() == kMaxListLength) return error_at(begin, "a list has at most 64 elements");
    values.push_back(*integer);
  } while (take(','));
  LANISTA_TRY(expect(']'));
  return AttrValue(std::move(values));
}

Result<AttrValue> LineReader::value() {
  skip_space();
  if (peek() == '[') return list();
  if (peek() == '"') {
    LANISTA_ASSIGN(std::string text, string());
    return AttrValue(std::move(text));
  }
  const std::string_view found = peek_word();
  if (found.empty()) return number();
  if (found != "true" && found != "false") {
    return error("unknown value " + in_quotes(found.substr(0, 64)) + "; strings must be in quotes");
  }
  at_ += found.size();
  return AttrValue(found == "true");
}

Result<void> LineReader::argument(Node& node) {
  skip_space();
  const std::size_t begin = at_;
  if (peek() == '%') {
    if (!node.attrs.empty()) return error("inputs must be before attributes");
    if (node.inputs.size() == kMaxTextInputs) return error("a node has at most 64 inputs");
    LANISTA_ASSIGN(const Port source, port());
    node.inputs.push_back(source);
    return {};
  }
  LANISTA_ASSIGN(const std::string name, word("an input or an attribute"));
  LANISTA_TRY(expect('='));
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
  LANISTA_TRY(expect('='));
  LANISTA_ASSIGN(node.op, word("an operator"));
  LANISTA_TRY(expect('('));
  if (!take(')')) {
    do {
      LANISTA_TRY(argument(node));
    } while (take(','));
    LANISTA_TRY(expect(')'));
  }
  if (!at_end() && peek() == '"') {
    LANISTA_ASSIGN(node.label, string());
  }
  LANISTA_TRY(expect_end());
  return node;
}

}  // namespace lanista::graph
