#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/mutate/model_view.h"

// Patterns, by which a mutator selects nodes: conditions on nodes, and chains of nodes. In C++
//   chain((op("conv2d") && attr("kernel") > 1 && label("features.*")).as("c") >> op("relu"))
// and as text in study files
//   conv2d & kernel > 1 & label(features.*) as c >> relu
namespace lanista::mutate {

/// A condition on one node. It holds if all its terms hold; && combines the terms of two conditions.
class NodePattern {
 public:
  /// A term: returns true if it holds for a node of a model.
  using Term = std::function<bool(const ModelView&, const graph::Node&)>;

  NodePattern() = default;  ///< matches every node
  explicit NodePattern(Term term) : terms_{std::move(term)} {}

  /// True if all terms hold for the node.
  bool matches(const ModelView& view, const graph::Node& node) const;
  /// Returns this condition with a name for the node that matches (Match::names).
  NodePattern as(std::string name) &&;
  /// The name that as() gave; empty if it was not called.
  const std::string& name() const { return name_; }

  /// A condition that holds if both hold. It has the name of `a`.
  friend NodePattern operator&&(NodePattern a, const NodePattern& b);

 private:
  std::vector<Term> terms_;
  std::string name_;
};

/// A condition that holds for every node.
NodePattern any();
/// A condition that holds for nodes with this operator, or with this word of `word_of`, such as "conv3x3".
NodePattern op(std::string name);
/// A condition on the whole label of nodes. In `glob`, * matches any characters (or none) and ? one character.
NodePattern label(std::string glob);
/// A condition that holds for the node with this id only.
NodePattern node(graph::NodeId id);

/// The relation of an attribute (left side) to a value (right side).
enum class Comparison { kEqual, kUnequal, kLess, kLessOrEqual, kGreater, kGreaterOrEqual };
/// A condition that holds for nodes with an operator that has this attribute, if the attribute is in this relation to
/// `value`.
///
/// An attribute that is not set has its default. For lists the relation must hold for every element; lists of one
/// element fit any length ([3] is [3,3]). kUnequal holds if kEqual does not. Texts and booleans have no order.
/// `padding == "same"` matches padding that keeps the size at stride 1. Any other relation of `padding` to "same"
/// matches all other nodes, also those without padding.
NodePattern attribute(std::string name, Comparison relation, graph::AttrValue value);

/// The name of an attribute. Operators such as > make a condition from it: attr("kernel") > 1.
struct AttrName {
  std::string name;  ///< name of the attribute
};
/// Returns the name of an attribute, to which a comparison can be added.
inline AttrName attr(std::string name) { return {std::move(name)}; }
/// Converts an integer literal of C++ to the value of an attribute.
inline graph::AttrValue attr_value(int value) { return std::int64_t{value}; }
/// Converts a string literal to the value of an attribute.
inline graph::AttrValue attr_value(const char* value) { return std::string(value); }
/// Returns the value of an attribute unchanged.
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
/// A condition that holds for nodes with an attribute that equals one of these values.
NodePattern one_of(const AttrName& attr, std::vector<graph::AttrValue> values);

/// The nodes of a model that match a pattern, in order of the chain.
struct Match {
  std::vector<graph::NodeId> nodes;  ///< ids, one for each step of the pattern
  std::vector<std::string> names;    ///< name of each node; an empty text if the pattern gives none

  /// The id of the node with this name. A name that the pattern lacks is a bug of the caller.
  graph::NodeId operator[](std::string_view name) const;
  bool operator==(const Match&) const = default;
};

/// A chain of conditions. In a match, each node reads the one before it.
///
/// With >> that is the only input in the model that reads the earlier node, so a matching chain can be removed as a
/// whole. With -> (shared) other inputs may read it.
class Pattern {
 public:
  /// Largest number of nodes of a chain.
  static constexpr std::size_t kMaxSteps = 8;
  /// One node of a chain.
  struct Step {
    NodePattern node;     ///< condition on the node
    bool shared = false;  ///< true: other nodes may also read the previous node; not used in the first step
  };

  Pattern() : Pattern(NodePattern()) {}
  Pattern(NodePattern node) : steps_{{std::move(node), false}} {}  // NOLINT: one condition is a chain of one

  /// Reads a pattern from text: STEP >> STEP -> STEP …
  ///
  /// A step is TERM & TERM … with an optional "as NAME". A term is an operator or word, *, %3, label(GLOB), ATTRIBUTE
  /// RELATION VALUE (== != < <= > >=), or ATTRIBUTE in [VALUE, …]. A string of one word needs no quotes. An empty text
  /// matches every node. Errors: kInvalidArgument with the column and the nearest name, also for more than kMaxSteps
  /// steps, 4096 bytes, or a name that occurs twice.
  static Result<Pattern> parse(std::string_view text, const graph::OpTable& ops);

  /// Returns this chain with one more node at its end. `shared` true: other nodes may read the node before it. More
  /// than kMaxSteps nodes are a bug of the caller.
  Pattern then(NodePattern next, bool shared = false) &&;
  /// The steps of the chain, in order. At least one.
  const std::vector<Step>& steps() const { return steps_; }

  /// All matches in a model, ascending by ids, in order of the chain. Nodes that shape repairs added do not match. The
  /// time is linear in the size of the model and the number of matches of each first part of the chain.
  std::vector<Match> find(const ModelView& view) const;
  /// True if the condition of the first step holds for the node; later steps are ignored. It also holds for nodes that
  /// shape repairs added.
  bool matches(const ModelView& view, const graph::Node& node) const;

 private:
  std::vector<Step> steps_;
};

/// Returns the chain with one more node at its end, which alone reads the node before it.
Pattern operator>>(Pattern chain, NodePattern next);
/// Makes a chain from one condition, so that >> can follow.
inline Pattern chain(Pattern steps) { return steps; }

/// True if the whole `text` matches `glob`, in which * matches any characters (or none) and ? one character.
bool glob_matches(std::string_view glob, std::string_view text);

}  // namespace lanista::mutate
