#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/graph/infer.h"
#include "lanista/model/transfer/transfer.h"
#include "lanista/model/transfer/unit_classes.h"

namespace lanista::zoo {

/// The relation of a value of the child to a value of the parent.
///
/// At most one axis differs. Along it, `labels` has for each index of the child the index of the parent, or kZero,
/// kMean or kRandomValue.
struct ValueMapping {
  bool known = false;                     ///< A value of the parent corresponds to it.
  bool exact = false;                     ///< It equals that value for all weights and inputs.
  bool zero = false;                      ///< It is zero everywhere.
  graph::Port parent{};                   ///< Value of the parent.
  std::size_t axis = 0;                   ///< Axis that differs; 0: none.
  std::vector<std::int64_t> labels = {};  ///< Index of the parent for each index along `axis`.

  /// A value that corresponds to no value of the parent.
  static ValueMapping none() { return {}; }
  /// A value that is zero everywhere.
  static ValueMapping zeros() {
    ValueMapping out;
    out.zero = true;
    return out;
  }
};

/// The arguments of a transfer rule: a node of the child, its partner, and its inputs.
struct NodeContext {
  const graph::Node& child;                    ///< node of the child
  const graph::Node* parent;                   ///< its partner; null: only the child has the node
  const graph::OpDef& def;                     ///< definition of its operator
  std::vector<graph::ValueType> types;         ///< types of its inputs
  std::vector<graph::ValueType> parent_types;  ///< types of the inputs of the partner
  std::vector<ValueMapping> inputs;            ///< relations of its inputs to the parent

  /// The arguments of the child's node for the rules of its operator.
  graph::OpArgs args() const { return {types, child.attrs, def}; }
  /// The arguments of the partner.
  graph::OpArgs before() const { return {parent_types, parent->attrs, def}; }
  /// The size of an input along an axis.
  std::int64_t size(std::size_t axis, std::size_t input = 0) const { return types[input].shape.dims[axis]; }
  /// The size of an input of the partner along an axis.
  std::int64_t old_size(std::size_t axis, std::size_t input = 0) const { return parent_types[input].shape.dims[axis]; }
  /// The last axis of input 0.
  std::size_t last() const { return types[0].shape.rank() - 1; }
};

/// How an axis grows from `o` units of the parent to `n` units of the child.
enum class Growth {
  kAppend,   ///< unit t is a copy of unit t mod o
  kRepeat,   ///< unit t is a copy of unit t o / n, if o divides n: copies are neighbours
  kAverage,  ///< each new unit is the mean of all
};

/// The choices that the tries of one plan vary.
struct PlanChoices {
  std::map<std::size_t, Growth> growth;  ///< by group of axes (UnitClasses::group); absent: kAppend
  std::set<graph::NodeId> zeroed;        ///< new layers that are zero instead of identities
};

/// One walk over the nodes of the child in dependency order, which makes a transfer plan for given choices.
class TransferWalk {
 public:
  /// The two models with the data that all walks share.
  struct Models {
    const graph::Graph& parent;                      ///< Parent model.
    const graph::Graph& child;                       ///< Child model.
    const graph::OpTable& ops;                       ///< Operator table.
    graph::Types parent_types, child_types;          ///< Types of all values.
    UnitClasses parent_units, child_units;           ///< Classes of units.
    std::map<graph::NodeId, graph::NodeId> partner;  ///< Node of the child to node of the parent.
    std::set<graph::Port> never_negative;            ///< Values of the parent that are at least zero.
    std::map<graph::NodeId, std::size_t> order;      ///< Position of the parent's nodes in dependency order.
  };

  /// The arguments must live as long as the walk.
  TransferWalk(const Models& models, const TransferOptions& options, const PlanChoices& choices)
      : m_(models), options_(options), choices_(choices) {}

  /// Makes the plan. Call it once.
  TransferPlan run();
  /// After run(): new layers that should be zero so that a sum keeps the parent's value.
  const std::set<graph::NodeId>& requested_zero() const { return requested_zero_; }
  /// After run(): the groups of axes that are wider in the child.
  const std::set<std::size_t>& grown() const { return grown_; }

  // For transfer rules.

  /// Records that the value of the node differs from the parent, with the reason. Returns `best` as an inexact
  /// relation.
  ValueMapping inexact(const NodeContext& at, std::string why, ValueMapping best = {});
  /// Returns `best` if all inputs are exactly those of the partner. Otherwise an inexact relation.
  ValueMapping exact(const NodeContext& at, ValueMapping best);
  /// The exact relation to output 0 of the partner, with `labels` along `axis`.
  ValueMapping identity(const NodeContext& at, std::size_t axis = 0, std::vector<std::int64_t> labels = {}) const;
  /// The relation of input `i` to the value that the partner reads there. It is inexact if the input corresponds to
  /// another value.
  ValueMapping input(const NodeContext& at, std::size_t i) const;
  /// The labels of input `i` along an axis. Without known labels, the indices modulo the size of the partner.
  std::vector<std::int64_t> labels(const NodeContext& at, std::size_t axis, std::size_t i = 0) const;
  /// The unit of the parent for each of `n` output units along `axis`, where the partner has `o` units.
  std::vector<std::int64_t> results(const NodeContext& at, std::size_t axis, std::int64_t n, std::int64_t o);
  /// The map of a weight's input axis that reads units with these labels. The shares of copies add up to 1, and a unit
  /// without label of the parent gets weight zero. `all` becomes false if a unit of the parent is not read.
  AxisMap columns(const NodeContext& at, std::span<const std::int64_t> labels, std::int64_t o, bool& all) const;
  /// Whether the partner has this parameter.
  bool has(const NodeContext& at, std::string_view param) const;
  /// Plans a parameter as a map (or copy) of the partner's parameter.
  void map(const NodeContext& at, std::string_view param, std::vector<AxisMap> axes, double fill = 0,
           std::int64_t groups = 1);
  /// Plans a parameter with one value.
  void set_constant(const NodeContext& at, std::string_view param, double value);
  /// Plans a parameter as an identity.
  void set_identity(const NodeContext& at, std::string_view param, std::vector<std::int64_t> tap);
  /// Plans a bias as a map of the partner's bias, or as zero if the partner has none. Returns false if the partner has
  /// a bias and the child has not.
  bool bias(const NodeContext& at, std::string_view param, const AxisMap& rows);
  /// Whether the choices make this new layer zero.
  bool zeroed(const NodeContext& at) const { return choices_.zeroed.contains(at.child.id); }
  /// The index of the exact input with the parent value that is latest in dependency order, or inputs.size() if there
  /// is none. With `axis`, inputs that differ along another axis do not count.
  std::size_t latest(const NodeContext& at, std::size_t axis = 0) const;
  /// Whether a value of the parent is at least zero.
  bool never_negative(graph::Port value) const { return m_.never_negative.contains(value); }
  /// Requests that the new layer before input `i` is zero in a later try, if such a layer exists.
  void request_zero(const NodeContext& at, std::size_t i);
  /// The type of output 0 of the child's node.
  const graph::ValueType& type(const NodeContext& at) const { return m_.child_types.at({at.child.id, 0}); }
  /// The type of a value of the parent.
  const graph::ValueType& old_type(graph::Port port) const { return m_.parent_types.at(port); }

 private:
  ValueMapping visit(const graph::Node& node);
  ValueMapping made_zero(const NodeContext& at);
  void finish(const graph::Node& node);
  const graph::ParamSpec* spec(std::string_view param) const;

  const Models& m_;
  const TransferOptions& options_;
  const PlanChoices& choices_;
  TransferPlan plan_;
  std::map<graph::NodeId, ValueMapping> values_;
  std::map<std::size_t, std::int64_t> stands_for_;  // class of child units to class of parent units, or kMean
  std::set<graph::NodeId> requested_zero_;
  std::set<std::size_t> grown_;
  std::map<std::string, TensorPlan, std::less<>> made_;  // plans of the current node, by parameter
  std::vector<graph::ParamSpec> specs_, old_specs_;      // parameters of the current node and of its partner
};

/// Whether a node and its partner have equal attributes, except `except` and attributes that lanes may set.
bool same_attributes(const NodeContext& at, std::initializer_list<std::string_view> except = {});

}  // namespace lanista::zoo
