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

/// How a value of the child follows from a value of the parent.
///
/// At most one axis has other indices. For each index of the child along that axis, `labels` has the index of the
/// parent, or kZero, kMean or kRandomValue.
struct ValueMapping {
  bool known = false;                     ///< True: it corresponds to the value `parent`.
  bool exact = false;                     ///< True: it equals that value for all weights and inputs.
  bool zero = false;                      ///< True: it is zero everywhere.
  graph::Port parent{};                   ///< Corresponding value of the parent, if `known`.
  std::size_t axis = 0;                   ///< Axis with other indices; 0: none.
  std::vector<std::int64_t> labels = {};  ///< Index of the parent for each index along `axis`.

  /// The mapping of a value that corresponds to no value of the parent.
  static ValueMapping none() { return {}; }
  /// The mapping of a value that is zero everywhere.
  static ValueMapping zeros() {
    ValueMapping out;
    out.zero = true;
    return out;
  }
};

/// The arguments of a transfer rule: a node of the child, its partner in the parent, and mappings of its inputs.
struct NodeContext {
  const graph::Node& child;                    ///< node of the child
  const graph::Node* parent;                   ///< partner in the parent; null: only the child has the node
  const graph::OpDef& def;                     ///< definition of the operator of `child`
  std::vector<graph::ValueType> types;         ///< types of the inputs of `child`
  std::vector<graph::ValueType> parent_types;  ///< types of the inputs of `parent`
  std::vector<ValueMapping> inputs;            ///< mappings of the inputs of `child`

  /// The input types and attributes of the child's node, for reading attributes.
  graph::OpArgs args() const { return {types, child.attrs, def}; }
  /// The input types and attributes of the partner, which must exist, for reading attributes.
  graph::OpArgs before() const { return {parent_types, parent->attrs, def}; }
  /// The size of input number `input` along an axis.
  std::int64_t size(std::size_t axis, std::size_t input = 0) const { return types[input].shape.dims[axis]; }
  /// The size of input number `input` of the partner along an axis. The partner must exist.
  std::int64_t old_size(std::size_t axis, std::size_t input = 0) const { return parent_types[input].shape.dims[axis]; }
  /// The index of the last axis of input 0.
  std::size_t last() const { return types[0].shape.rank() - 1; }
};

/// How an axis grows from `o` units of the parent to `n` units of the child.
enum class Growth {
  kAppend,   ///< Unit t is a copy of unit t mod o.
  kRepeat,   ///< Unit t is a copy of unit t o / n, so copies are neighbours. If o does not divide n, as kAppend.
  kAverage,  ///< Unit t is unit t of the parent, or from t = o on the mean of all o units.
};

/// The choices in which the attempts of plan_transfer() differ. It returns the plan of the best attempt.
struct PlanChoices {
  std::map<std::size_t, Growth> growth;  ///< by group of axes of the child (UnitClasses::group); absent: kAppend
  std::set<graph::NodeId> zeroed;        ///< nodes that only the child has and that give zero instead of the identity
};

/// One walk over the nodes of the child in dependency order, which makes a transfer plan for given choices. Not
/// thread-safe.
class TransferWalk {
 public:
  /// The two models, with data that all walks share.
  struct Models {
    const graph::Graph& parent;                      ///< Parent model.
    const graph::Graph& child;                       ///< Child model.
    const graph::OpTable& ops;                       ///< Operator table.
    graph::Types parent_types, child_types;          ///< Types of all values of each model.
    UnitClasses parent_units, child_units;           ///< Classes of units of each model.
    std::map<graph::NodeId, graph::NodeId> partner;  ///< Node of the parent for each paired node of the child.
    std::set<graph::Port> never_negative;            ///< Values of the parent that are always at least 0.
    std::map<graph::NodeId, std::size_t> order;      ///< Position of each parent node in dependency order.
  };

  /// Prepares a walk. The arguments must live as long as the object.
  TransferWalk(const Models& models, const TransferOptions& options, const PlanChoices& choices)
      : m_(models), options_(options), choices_(choices) {}

  /// Makes the plan. Call it once.
  TransferPlan run();
  /// After run(): new layers that should give zero in a later try, so that a sum keeps the parent's value.
  const std::set<graph::NodeId>& requested_zero() const { return requested_zero_; }
  /// After run(): the groups of axes that have more units in the child than in the parent.
  const std::set<std::size_t>& grown() const { return grown_; }

  // For transfer rules.

  /// Records the reason why the value of the node differs from the parent, unless one is recorded already. Returns
  /// `best` with ValueMapping::exact set to false, and otherwise unchanged.
  ValueMapping inexact(const NodeContext& at, std::string why, ValueMapping best = {});
  /// Returns `best` unchanged if the inputs of the child's node have exactly the values that its partner, the paired
  /// node of the parent, reads. The partner must exist. Otherwise records the reason, as inexact() does, and returns
  /// `best` marked as inexact.
  ValueMapping exact(const NodeContext& at, ValueMapping best);
  /// The exact mapping to output 0 of the partner, with `labels` along `axis`.
  ValueMapping identity(const NodeContext& at, std::size_t axis = 0, std::vector<std::int64_t> labels = {}) const;
  /// The mapping of input `i` to the value that the partner reads there. It is inexact if the input corresponds to
  /// another value.
  ValueMapping input(const NodeContext& at, std::size_t i) const;
  /// The labels of input `i` along an axis. If they are not known: the indices modulo the size of the partner's input.
  std::vector<std::int64_t> labels(const NodeContext& at, std::size_t axis, std::size_t i = 0) const;
  /// The labels of `n` output units along `axis`, where the partner has `o` units. If n < o, they are the units that
  /// stay. If n > o, they follow the growth of the group. Units of one class get the same label.
  std::vector<std::int64_t> results(const NodeContext& at, std::size_t axis, std::int64_t n, std::int64_t o);
  /// The map for the input axis of a weight, which reads units with these labels, where the partner reads `o` units.
  /// The factors of all copies of a unit add up to 1. A unit that corresponds to none of the parent gets weight zero.
  /// `all` becomes false if a unit of the parent is not read.
  AxisMap columns(const NodeContext& at, std::span<const std::int64_t> labels, std::int64_t o, bool& all) const;
  /// True if the partner has a parameter with this name.
  bool has(const NodeContext& at, std::string_view param) const;
  /// Plans a parameter as a map of the partner's parameter, or as a copy if nothing changes. The other arguments are
  /// fields of TensorPlan. It does nothing if the child's node or the partner lacks the parameter.
  void map(const NodeContext& at, std::string_view param, std::vector<AxisMap> axes, double fill = 0,
           std::int64_t groups = 1);
  /// Plans a parameter in which all elements have one value. It does nothing if the child's node lacks the parameter.
  void set_constant(const NodeContext& at, std::string_view param, double value);
  /// Plans a parameter as an identity (TensorPlan::Kind::kIdentity).
  void set_identity(const NodeContext& at, std::string_view param, std::vector<std::int64_t> tap);
  /// Plans a bias as a map of the partner's bias, or as zero if the partner has none. Returns false if the partner has
  /// a bias and the child has none; true otherwise.
  bool bias(const NodeContext& at, std::string_view param, const AxisMap& rows);
  /// True if the choices require that this new layer gives zero.
  bool zeroed(const NodeContext& at) const { return choices_.zeroed.contains(at.child.id); }
  /// The index of the input that exactly equals a value of the parent, and of these the one that is last in dependency
  /// order of the parent. It is inputs.size() if there is none. With `axis` above 0, inputs with other indices along
  /// another axis do not count.
  std::size_t latest(const NodeContext& at, std::size_t axis = 0) const;
  /// True if a value of the parent is always at least 0.
  bool never_negative(graph::Port value) const { return m_.never_negative.contains(value); }
  /// Requests that the new layer before input `i` gives zero in a later try, if there is such a layer.
  void request_zero(const NodeContext& at, std::size_t i);
  /// The type of output 0 of the child's node. The reference lives as long as the models.
  const graph::ValueType& type(const NodeContext& at) const { return m_.child_types.at({at.child.id, 0}); }
  /// The type of a value of the parent. The reference lives as long as the models.
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

/// True if a node and its partner, which must exist, have equal attributes. `except`, derived attributes and attributes
/// that each lane may set do not count. An attribute that is not set has its default.
bool same_attributes(const NodeContext& at, std::initializer_list<std::string_view> except = {});

}  // namespace lanista::zoo
