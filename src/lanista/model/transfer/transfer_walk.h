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

/// What a value of the child is in words of the parent. All axes but one have the parent's indices in their places;
/// along that one, `labels` says for each index which of the parent's stands there (or kZero, kMean; kRandomValue: anything).
struct ValueMapping {
  bool known = false;  ///< there is a value of the parent that it corresponds to
  bool exact = false;  ///< it is that value for all weights and inputs; else only its counterpart
  bool zero = false;   ///< it is zero everywhere
  graph::Port parent{};
  std::size_t axis = 0;  ///< 0: no axis differs
  std::vector<std::int64_t> labels = {};

  static ValueMapping none() { return {}; }
  static ValueMapping zeros() {
    ValueMapping out;
    out.zero = true;
    return out;
  }
};

/// A node of the child under a rule.
struct NodeContext {
  const graph::Node& child;
  const graph::Node* parent;  ///< null: the child's alone
  const graph::OpDef& def;
  std::vector<graph::ValueType> types, parent_types;  ///< of the inputs
  std::vector<ValueMapping> inputs;

  graph::OpArgs args() const { return {types, child.attrs, def}; }
  graph::OpArgs before() const { return {parent_types, parent->attrs, def}; }
  std::int64_t size(std::size_t axis, std::size_t input = 0) const { return types[input].shape.dims[axis]; }
  std::int64_t old_size(std::size_t axis, std::size_t input = 0) const { return parent_types[input].shape.dims[axis]; }
  std::size_t last() const { return types[0].shape.rank() - 1; }
};

/// How a width grows.
enum class Growth {
  kAppend,  ///< unit t of n stands for t mod o
  kRepeat,  ///< for t o / n, where o divides n: copies are neighbours
  kAverage, ///< new units are the mean of all
};

/// What the tries of one planning vary.
struct PlanChoices {
  std::map<std::size_t, Growth> growth;  ///< by group of axes (UnitClasses::group); absent: kAppend
  std::set<graph::NodeId> zeroed;        ///< new layers that are zero rather than identities
};

/// One walk over the child.
class TransferWalk {
 public:
  struct Models {
    const graph::Graph& parent;
    const graph::Graph& child;
    const graph::OpTable& ops;
    graph::Types parent_types, child_types;
    UnitClasses parent_units, child_units;
    std::map<graph::NodeId, graph::NodeId> partner;  ///< child's node -> parent's
    std::set<graph::Port> never_negative;            ///< values of the parent
    std::map<graph::NodeId, std::size_t> order;      ///< of the parent's nodes, by dependency
  };

  TransferWalk(const Models& models, const TransferOptions& options, const PlanChoices& choices)
      : m_(models), options_(options), choices_(choices) {}

  TransferPlan run();
  /// New layers that would have to be zero where a sum did not come out.
  const std::set<graph::NodeId>& requested_zero() const { return requested_zero_; }
  /// Groups of axes that grew.
  const std::set<std::size_t>& grown() const { return grown_; }

  // For rules.
  /// Says that the place's value is no longer the parent's, and gives the best that is known.
  ValueMapping inexact(const NodeContext& at, std::string why, ValueMapping best = {});
  /// `best`, if all inputs are exactly those of the parent's node; else the same as a mere counterpart.
  ValueMapping exact(const NodeContext& at, ValueMapping best);
  /// The relation to output 0 of the parent's node.
  ValueMapping identity(const NodeContext& at, std::size_t axis = 0, std::vector<std::int64_t> labels = {}) const;
  /// Input `i` in words of the value that the parent's node reads there; its mere counterpart where it is not that.
  ValueMapping input(const NodeContext& at, std::size_t i) const;
  /// Labels of an input along an axis; without any: counted upwards, from the beginning again where the child is wider.
  std::vector<std::int64_t> labels(const NodeContext& at, std::size_t axis, std::size_t i = 0) const;
  /// Which unit of the parent each result stands for, `n` of the child for `o` of the parent along `axis`.
  std::vector<std::int64_t> results(const NodeContext& at, std::size_t axis, std::int64_t n, std::int64_t o);
  /// Columns that read these labels: shares of copies add up to 1, what is no copy is read with weight zero. `all`
  /// becomes false if a unit of the parent is read by nobody.
  AxisMap columns(const NodeContext& at, std::span<const std::int64_t> labels, std::int64_t o, bool& all) const;
  bool has(const NodeContext& at, std::string_view param) const;  ///< the parent's node has this parameter too
  void map(const NodeContext& at, std::string_view param, std::vector<AxisMap> axes, double fill = 0,
           std::int64_t groups = 1);
  void set_constant(const NodeContext& at, std::string_view param, double value);
  void set_identity(const NodeContext& at, std::string_view param, std::vector<std::int64_t> tap);
  /// A bias along `rows`: the parent's, or zero. False if the child cannot have the parent's.
  bool bias(const NodeContext& at, std::string_view param, const AxisMap& rows);
  bool zeroed(const NodeContext& at) const { return choices_.zeroed.contains(at.child.id); }
  /// The exact value that comes last in the parent, of inputs that differ along no axis but `axis` (0: any); those
  /// that are read further on are rather that than what stands far above. inputs.size() if there is none.
  std::size_t latest(const NodeContext& at, std::size_t axis = 0) const;
  bool never_negative(graph::Port value) const { return m_.never_negative.contains(value); }
  /// Asks that input `i`, the child's alone, be zero the next time, if a new layer can make it so.
  void request_zero(const NodeContext& at, std::size_t i);
  const graph::ValueType& type(const NodeContext& at) const { return m_.child_types.at({at.child.id, 0}); }
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
  std::map<std::size_t, std::int64_t> stands_for_;  // class of the child's units -> of the parent's, or kMean
  std::set<graph::NodeId> requested_zero_;
  std::set<std::size_t> grown_;
  std::map<std::string, TensorPlan, std::less<>> made_;  // of the node in hand, by parameter
  std::vector<graph::ParamSpec> specs_, old_specs_;      // of the node in hand
};

/// Whether the attributes that count in inference agree, but for `except`.
bool same_attributes(const NodeContext& at, std::initializer_list<std::string_view> except = {});

}  // namespace lanista::zoo
