#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/mutate/model_view.h"

// Which places of a model a mutator means: conditions on nodes, and chains of nodes that feed each other. In C++
//   chain((op("conv2d") && attr("kernel") > 1 && label("features.*")).as("c") >> op("relu"))
// and as text in study files
//   conv2d & kernel > 1 & label(features.*) as c >> relu
namespace lanista::mutate {

/// A condition on one node: all its terms hold.
class NodePattern {
 public:
  using Term = std::function<bool(const ModelView&, const graph::Node&)>;

  NodePattern() = default;  ///< every node
  explicit NodePattern(Term term) : terms_{std::move(term)} {}

  bool matches(const ModelView& view, const graph::Node& node) const;
  /// The same condition with a name for the node in a match.
  NodePattern as(std::string name) &&;
  const std::string& name() const { return name_; }

  friend NodePattern operator&&(NodePattern a, const NodePattern& b);

 private:
  std::vector<Term> terms_;
  std::string name_;
};

NodePattern any();
NodePattern op(std::string name);     ///< an operator, or a family's word for what the node is now ("conv3x3")
NodePattern label(std::string glob);  ///< * stands for any letters, ? for one
NodePattern node(graph::NodeId id);

enum class Comparison { kEqual, kUnequal, kLess, kLessOrEqual, kGreater, kGreaterOrEqual };
/// A node whose operator has the attribute, in this relation to `value`; left out, it has its default. Of lists every
/// element must hold, and one element stands for all ([3] is [3,3]). `padding == "same"` means: what keeps the size at
/// stride 1.
NodePattern attribute(std::string name, Comparison relation, graph::AttrValue value);

/// attr("kernel") > 1 and the like make the above.
struct AttrName {
  std::string name;
};
inline AttrName attr(std::string name) { return {std::move(name)}; }
/// A literal as an attribute's value.
inline graph::AttrValue attr_value(int value) { return std::int64_t{value}; }
inline graph::AttrValue attr_value(const char* value) { return std::string(value); }
inline graph::AttrValue attr_value(graph::AttrValue value) { return value; }
template <class T>
NodePattern operator==(AttrName a, T v) {
  return attribute(std::move(a.name), Comparison::kEqual, attr_value(std::move(v)));
}
template <class T>
NodePattern operator!=(AttrName a, T v) {
  return attribute(std::move(a.name), Comparison::kUnequal, attr_value(std::move(v)));
}
template <class T>
NodePattern operator<(AttrName a, T v) {
  return attribute(std::move(a.name), Comparison::kLess, attr_value(std::move(v)));
}
template <class T>
NodePattern operator<=(AttrName a, T v) {
  return attribute(std::move(a.name), Comparison::kLessOrEqual, attr_value(std::move(v)));
}
template <class T>
NodePattern operator>(AttrName a, T v) {
  return attribute(std::move(a.name), Comparison::kGreater, attr_value(std::move(v)));
}
template <class T>
NodePattern operator>=(AttrName a, T v) {
  return attribute(std::move(a.name), Comparison::kGreaterOrEqual, attr_value(std::move(v)));
}
/// One of these values.
NodePattern one_of(const AttrName& attr, std::vector<graph::AttrValue> values);

/// The nodes that a pattern found, the first one first.
struct Match {
  std::vector<graph::NodeId> nodes;
  std::vector<std::string> names;  ///< of the nodes, empty where the pattern gives none

  /// The node with this name; asking for another one is a bug.
  graph::NodeId operator[](std::string_view name) const;
  bool operator==(const Match&) const = default;
};

/// A chain of conditions: each node reads the one before it. With >> nobody else reads that value, so that the chain
/// can be taken out as a whole; with -> (shared) others may.
class Pattern {
 public:
  static constexpr std::size_t kMaxSteps = 8;
  struct Step {
    NodePattern node;
    bool shared = false;  ///< others may read what this node reads from the one before it
  };

  Pattern() : Pattern(NodePattern()) {}
  Pattern(NodePattern node) : steps_{{std::move(node), false}} {}  // NOLINT: one condition is a chain of one

  /// STEP >> STEP -> STEP …; a step is TERM & TERM … as NAME, or nothing for every node; a term is an operator or word,
  /// *, %3, label(GLOB), ATTRIBUTE RELATION VALUE (== != < <= > >=), or ATTRIBUTE in [VALUE, …]. Strings need no quotes
  /// where they are one word. Errors: kInvalidArgument with the column, and the nearest name.
  static Result<Pattern> parse(std::string_view text, const graph::OpTable& ops);

  Pattern then(NodePattern next, bool shared = false) &&;
  const std::vector<Step>& steps() const { return steps_; }

  /// All places, in order of id; none holds a repair. Time grows with nodes and matches.
  std::vector<Match> find(const ModelView& view) const;
  /// Whether a chain of one means this node.
  bool matches(const ModelView& view, const graph::Node& node) const;

 private:
  std::vector<Step> steps_;
};

Pattern operator>>(Pattern chain, NodePattern next);
inline Pattern chain(Pattern steps) { return steps; }

/// Whether all of `text` fits `glob`; * stands for any letters, ? for one.
bool glob_matches(std::string_view glob, std::string_view text);

}  // namespace lanista::mutate
