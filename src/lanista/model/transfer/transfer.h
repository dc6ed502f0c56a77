#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/lineage.h"
#include "lanista/model/graph/op.h"

// Transfer of the weights of a parent model to a child model (Net2Net, Chen et al. 2016; ModelKeeper, NSDI'23; LEMON).
namespace lanista::zoo {

// Special values of AxisMap::from, instead of an index of the parent.

inline constexpr std::int64_t kZero = -1;         ///< the value TensorPlan::fill, by default 0
inline constexpr std::int64_t kMean = -2;         ///< the mean over all indices of the axis of the parent
inline constexpr std::int64_t kRandomValue = -3;  ///< a random initial value, as in a new child

/// For one axis of a tensor of the child: from which index of the parent the elements come.
struct AxisMap {
  std::vector<std::int64_t> from;  ///< by index of the child: index of the parent or a special value; empty: same
  std::vector<double> times;       ///< by index of the child: factor of the elements; empty: all 1; needs `from`
  bool operator==(const AxisMap&) const = default;
};

/// How one tensor of the child is made from tensors of the parent.
struct TensorPlan {
  /// Where the elements of the tensor come from.
  enum class Kind {
    kCopy,  ///< The tensor of the parent, unchanged.
    kMap,   ///< Elements of a tensor of the parent by `axes`; factors multiply, and kZero wins over kRandomValue.
    /// 1 where the output index, modulo the size of the second dimension, is the input index, at index `tap` of a
    /// window. Otherwise 0.
    kIdentity,
    kConstant,  ///< All elements are `fill`.
    kRandom,    ///< The random initial values of the child.
  };
  std::string name;                      ///< Name of the tensor in the child.
  Kind kind = Kind::kRandom;             ///< Origin of the elements.
  std::string from = {};                 ///< Name of the tensor in the parent, for kCopy and kMap.
  std::vector<std::int64_t> shape = {};  ///< Shape of the tensor in the child.
  std::vector<AxisMap> axes = {};        ///< For kMap: one for each dimension.
  std::vector<std::int64_t> tap = {};    ///< For kIdentity: index in each dimension after the second.
  double fill = 0;                       ///< Value for kConstant and kZero.
  std::int64_t groups = 1;               ///< For kMap: groups of the parent's kernel; above 1: made dense first.
  bool operator==(const TensorPlan&) const = default;
};

/// The name of a kind in JSON: "copy", "map", "identity", "constant" or "random".
std::string_view kind_name(TensorPlan::Kind kind);

/// A transfer plan: how each tensor of a child is made from the weights of a parent.
///
/// It contains no weights, so it can be stored and applied again.
struct TransferPlan {
  /// True: the child computes the parent's function in inference for all weights. False: it may still do so for some
  /// weights.
  bool exact = false;
  std::vector<graph::NodeId> exact_nodes;  ///< child nodes with the same value as in the parent, in dependency order
  std::string inexact_reason;              ///< for people: first node with another value, and why; empty if exact
  std::vector<TensorPlan> tensors;         ///< one for each parameter and buffer of the child
  bool operator==(const TransferPlan&) const = default;
};

/// Options for layers that the child has in another width: how copies of a unit share its outgoing weights, and which
/// units stay if the child has fewer.
struct TransferOptions {
  /// Seed of the random shares by which the copies of a unit divide its outgoing weights. Unequal shares let the copies
  /// learn different functions (LEMON).
  std::uint64_t seed = 0;
  /// Importance of each unit, by node of the parent. If the child has fewer units, the most important ones are kept;
  /// without scores, or with another number of scores than units, the first ones.
  std::map<graph::NodeId, std::vector<double>> scores = {};
};

/// Pairs the nodes of related models that have the same id and operator, ascending by id.
std::vector<graph::NodePair> lineage_mapping(const graph::Graph& parent, const graph::Graph& child);

/// Plans the transfer of weights from a parent to a child.
///
/// `mapping` has pairs {parent node, child node}. Pairs of unknown nodes, of different operators or of values of
/// different rank are ignored. Of several pairs of one child node the first counts. The inputs and the outputs of the
/// models are always paired.
///
/// Units (channels, features) of the child that must be equal form classes, found by union-find over (value, axis,
/// index). They must be equal if they are added, or pass a layer that treats each channel alone. Each class corresponds
/// to one unit of the parent, to zero, or to the mean of all units. Then the plan walks the child in dependency order
/// and finds, for each value, the corresponding value and indices of the parent. New layers become identities if that
/// keeps the function, or zero if their result is added to a value of the parent.
///
/// O(classes + nodes + elements of index lists) for each of up to 200 tries. The tries choose, axis by axis, how a
/// width grows: appended copies, neighbouring copies or means. Errors: as in `graph::verify` (kNotFound,
/// kInvalidArgument) for either model.
Result<TransferPlan> plan_transfer(const graph::Graph& parent, const graph::Graph& child,
                                   std::span<const graph::NodePair> mapping, const graph::OpTable& ops,
                                   const TransferOptions& options = {});

/// Makes the tensors of the child from the tensors of the parent, in the order of the plan. Tensors of kind kRandom are
/// left out.
///
/// The element type is float64 if any tensor of the parent has it, else float32; arithmetic is in float64. The result
/// depends on the arguments alone. `seed` and the tensor names decide random values, and `child` their distribution.
///
/// Errors: kInvalidArgument with the name of a tensor that the parent or the child lacks, or that has another shape or
/// type than the plan needs; those of `graph::parameters` for the child.
Result<std::vector<Tensor>> apply(const TransferPlan& plan, std::span<const Tensor> parent, const graph::Graph& child,
                                  const graph::OpTable& ops, std::uint64_t seed);

/// The share of elements of the child's parameters and buffers that come from the parent (copied or mapped), in [0, 1].
/// Means of elements count, zeros and random values do not. It is 0 for a child without parameters.
double inherited_share(const TransferPlan& plan);

/// The name of the first tensor that is not a selection of distinct, unchanged elements of one parent tensor; empty if
/// there is none.
///
/// If it is empty, the optimiser state of each element can be transferred in the same way.
std::string first_not_one_to_one(const TransferPlan& plan);

/// Returns a plan as JSON: an object with lanista_transfer (the version), exact, lost (the reason), exact_nodes (ids)
/// and tensors. A tensor has the fields of TensorPlan as keys. Empty and default values are left out, except an empty
/// `tensors` or `shape`.
nlohmann::json transfer_json(const TransferPlan& plan);
/// Reads a plan from the JSON of `transfer_json`. Whether it fits any models is not checked; apply() does that. Errors:
/// kDataLoss for other JSON; kUnimplemented for another version.
Result<TransferPlan> transfer_from_json(const nlohmann::json& json);

}  // namespace lanista::zoo
