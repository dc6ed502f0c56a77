#include <algorithm>
#include <optional>

#include "lanista/base/edit_distance.h"
#include "lanista/base/text_cursor.h"
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

class PatternParser : private TextCursor {
 public:
  PatternParser(std::string_view text, const graph::OpTable& ops) : TextCursor(text, " \t\r\n"), names_(ops) {}

  Result<Pattern> run() {
    if (text().size() > kMaxText) return error(0, "is longer than 4096 bytes");
    skip_blanks();
    if (rest().empty()) return Pattern();
    LANISTA_ASSIGN(NodePattern first, step());
    Pattern pattern{std::move(first)};
    for (std::size_t steps = 1; !rest().empty(); ++steps) {
      const std::size_t begin = position();
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
                 "in the pattern \"" + std::string(text().substr(0, 256)) + "\", column " + std::to_string(at + 1) +
                     ": " + message,
                 ""};
  }
  Error unknown(std::size_t at, const std::string& kind, const std::string& name,
                const std::vector<std::string>& known) const {
    const std::string near = nearest_name(name, known);
    return error(at, "unknown " + kind + " '" + name + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
  std::string found() const { return TextCursor::found(12, "the end"); }

  bool take(std::string_view token) {
    const bool is_next = accept(token);
    skip_blanks();
    return is_next;
  }
  std::string word() {
    const std::string name(peek_name());
    advance(name.size());
    skip_blanks();
    return name;
  }

  Result<NodePattern> step() {
    LANISTA_ASSIGN(NodePattern node, term());
    while (take("&&") || take("&")) {
      LANISTA_ASSIGN(const NodePattern next, term());
      node = std::move(node) && next;
    }
    const std::size_t begin = position();
    if (word() != "as") {
      move_to(begin);
      return node;
    }
    const std::size_t at = position();
    std::string name = word();
    if (name.empty()) return error(at, "expected a name behind 'as', found " + found());
    if (has(captures_, name)) return error(at, "the name '" + name + "' is given twice");
    captures_.push_back(name);
    return std::move(node).as(std::move(name));
  }

  Result<NodePattern> term() {
    skip_blanks();
    const std::size_t begin = position();
    if (take("*")) return any();
    if (next_is("%")) return id_term();
    const std::string name = word();
    if (name.empty()) return error(begin, "a term is missing: found " + found());
    if (name == "label" && next_is("(")) return label_term(begin);
    if (const auto relation = take_relation()) return attr_term(begin, name, *relation);
    const std::size_t behind = position();
    if (word() == "in") return list_term(begin, name);
    move_to(behind);
    if (!has(names_.ops, name)) return unknown(begin, "term", name, names_.ops);
    return op(name);
  }

  Result<NodePattern> id_term() {
    graph::LineReader reader(rest(), 1);
    const auto id = reader.node_id();
    if (!id) return error(position(), id.error().message);
    advance(reader.position());
    skip_blanks();
    return node(*id);
  }

  Result<NodePattern> label_term(std::size_t begin) {
    const std::size_t end = text().find(')', position());
    if (end == std::string_view::npos) return error(begin, "label( lacks its closing bracket");
    const std::string_view glob = trim(text().substr(position() + 1, end - position() - 1), " ");
    move_to(end + 1);
    skip_blanks();
    return label(std::string(glob));
  }

  std::optional<Comparison> take_relation() {
    // ">>" separates steps and is no relation; no relation starts like "->".
    if (next_is(">>")) return std::nullopt;
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
    if (!take("[")) return error(position(), "expected [VALUE, …] behind 'in', found " + found());
    std::vector<graph::AttrValue> values;
    do {
      LANISTA_ASSIGN(graph::AttrValue one, value());
      values.push_back(std::move(one));
    } while (take(","));
    if (!take("]")) return error(position(), "expected , or ], found " + found());
    return one_of(attr(name), std::move(values));
  }

  Result<graph::AttrValue> value() {
    const std::size_t begin = position();
    const std::string bare = word();
    if (!bare.empty() && bare != "true" && bare != "false") return graph::AttrValue(bare);
    move_to(begin);
    graph::LineReader reader(rest(), 1);
    auto read = reader.value();
    if (!read) return error(begin, read.error().message);
    advance(reader.position());
    skip_blanks();
    return read;
  }

  Names names_;
  std::vector<std::string> captures_;
};

}  // namespace

Result<Pattern> Pattern::parse(std::string_view text, const graph::OpTable& ops) {
  return PatternParser(text, ops).run();
}

}  // namespace lanista::mutate
