#include <algorithm>
#include <optional>

#include "lanista/base/edit_distance.h"
#include "lanista/model/graph/text_reader.h"
#include "lanista/model/mutate/op_words.h"
#include "lanista/model/mutate/pattern.h"

namespace lanista::mutate {

namespace {

constexpr std::size_t kMaxText = 4096;

/// The names that a pattern may contain.
struct Names {
  std::vector<std::string> ops;    ///< operators and words of families
  std::vector<std::string> attrs;  ///< of all operators

  explicit Names(const graph::OpTable& table) : ops(table.names()) {
    for (std::string& word : family_words()) ops.push_back(std::move(word));
    for (const std::string& name : table.names()) {
      for (const auto& spec : table.find(name)->attrs) {
        if (spec.role != graph::AttrRole::kDerived) attrs.push_back(spec.name);
      }
    }
  }
};

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class PatternParser {
 public:
  PatternParser(std::string_view text, const graph::OpTable& ops) : text_(text), names_(ops) {}

  Result<Pattern> run() {
    if (text_.size() > kMaxText) return error(0, "is longer than 4096 bytes");
    skip_space();
    if (at_ == text_.size()) return Pattern();
    LANISTA_ASSIGN(NodePattern first, step());
    Pattern pattern{std::move(first)};
    for (std::size_t steps = 1; at_ < text_.size(); ++steps) {
      const std::size_t begin = at_;
      const bool shared = take("->");
      if (!shared && !take(">>")) return error(begin, "expected &, as, >> or ->, found " + found());
      if (steps == Pattern::kMaxSteps) return error(begin, "a chain has at most 8 nodes");
      LANISTA_ASSIGN(NodePattern next, step());
      pattern = std::move(pattern).then(std::move(next), shared);
    }
    return pattern;
  }

 private:
  Error error(std::size_t at, const std::string& message) const {
    return Error{Code::kInvalidArgument,
                 "in the pattern \"" + std::string(text_.substr(0, 256)) + "\", column " + std::to_string(at + 1) +
                     ": " + message,
                 ""};
  }
  Error unknown(std::size_t at, const std::string& kind, const std::string& name,
                const std::vector<std::string>& known) const {
    const std::string near = nearest_name(name, known);
    return error(at, "unknown " + kind + " '" + name + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
  std::string found() const { return at_ == text_.size() ? "the end" : "'" + std::string(text_.substr(at_, 12)) + "'"; }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  bool take(std::string_view token) {
    skip_space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    skip_space();
    return true;
  }
  std::string word() {
    graph::LineReader reader(text_.substr(at_), 1);
    const std::string name(reader.peek_word());
    at_ += name.size();
    skip_space();
    return name;
  }

  Result<NodePattern> step() {
    LANISTA_ASSIGN(NodePattern node, term());
    while (take("&&") || take("&")) {
      LANISTA_ASSIGN(const NodePattern next, term());
      node = std::move(node) && next;
    }
    const std::size_t begin = at_;
    if (word() != "as") {
      at_ = begin;
      return node;
    }
    const std::size_t at = at_;
    std::string name = word();
    if (name.empty()) return error(at, "expected a name behind 'as', found " + found());
    if (has(captures_, name)) return error(at, "the name '" + name + "' is given twice");
    captures_.push_back(name);
    return std::move(node).as(std::move(name));
  }

  Result<NodePattern> term() {
    skip_space();
    const std::size_t begin = at_;
    if (take("*")) return any();
    if (text_.substr(at_).starts_with('%')) return id_term();
    const std::string name = word();
    if (name.empty()) return error(begin, "a term is missing: found " + found());
    if (name == "label" && text_.substr(at_).starts_with('(')) return label_term(begin);
    if (const auto relation = take_relation()) return attr_term(begin, name, *relation);
    const std::size_t behind = at_;
    if (word() == "in") return list_term(begin, name);
    at_ = behind;
    if (!has(names_.ops, name)) return unknown(begin, "term", name, names_.ops);
    return op(name);
  }

  Result<NodePattern> id_term() {
    graph::LineReader reader(text_.substr(at_), 1);
    const auto id = reader.node_id();
    if (!id) return error(at_, id.error().message);
    at_ += reader.position();
    skip_space();
    return node(*id);
  }

  Result<NodePattern> label_term(std::size_t begin) {
    const std::size_t end = text_.find(')', at_);
    if (end == std::string_view::npos) return error(begin, "label( lacks its closing bracket");
    std::string_view glob = text_.substr(at_ + 1, end - at_ - 1);
    while (glob.starts_with(' ')) glob.remove_prefix(1);
    while (glob.ends_with(' ')) glob.remove_suffix(1);
    at_ = end + 1;
    skip_space();
    return label(std::string(glob));
  }

  std::optional<Comparison> take_relation() {
    // ">>" separates steps and is no relation; no relation starts like "->".
    if (text_.substr(at_).starts_with(">>")) return std::nullopt;
    if (take("==")) return Comparison::kEqual;
    if (take("!=")) return Comparison::kUnequal;
    if (take("<=")) return Comparison::kLessOrEqual;
    if (take(">=")) return Comparison::kGreaterOrEqual;
    if (take("<")) return Comparison::kLess;
    if (take(">")) return Comparison::kGreater;
    return std::nullopt;
  }

  Result<NodePattern> attr_term(std::size_t begin, const std::string& name, Comparison relation) {
    if (!has(names_.attrs, name)) return unknown(begin, "attribute", name, names_.attrs);
    LANISTA_ASSIGN(graph::AttrValue want, value());
    return attribute(name, relation, std::move(want));
  }

  Result<NodePattern> list_term(std::size_t begin, const std::string& name) {
    if (!has(names_.attrs, name)) return unknown(begin, "attribute", name, names_.attrs);
    if (!take("[")) return error(at_, "expected [VALUE, …] behind 'in', found " + found());
    std::vector<graph::AttrValue> values;
    do {
      LANISTA_ASSIGN(graph::AttrValue one, value());
      values.push_back(std::move(one));
    } while (take(","));
    if (!take("]")) return error(at_, "expected , or ], found " + found());
    return one_of(attr(name), std::move(values));
  }

  Result<graph::AttrValue> value() {
    const std::size_t begin = at_;
    const std::string bare = word();
    if (!bare.empty() && bare != "true" && bare != "false") return graph::AttrValue(bare);
    at_ = begin;
    graph::LineReader reader(text_.substr(at_), 1);
    auto read = reader.value();
    if (!read) return error(begin, read.error().message);
    at_ += reader.position();
    skip_space();
    return read;
  }

  std::string_view text_;
  Names names_;
  std::vector<std::string> captures_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Pattern> Pattern::parse(std::string_view text, const graph::OpTable& ops) {
  return PatternParser(text, ops).run();
}

}  // namespace lanista::mutate
