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

// How the weights of one model become those of another (Net2Net, Chen et al. 2016; ModelKeeper, NSDI'23; LEMON).
namespace lanista::zoo {

// In the place of an index of the parent.
inline constexpr std::int64_t kZero = -1;   ///< nothing of the parent: TensorPlan::fill
inline constexpr std::int64_t kMean = -2;   ///< the mean over the parent's axis
inline constexpr std::int64_t kRandomValue = -3;  ///< a random value

/// What stands along one axis of a child's tensor.
struct AxisMap {
  std::vector<std::int64_t> from;  ///< for each index the parent's, or one of the words above; empty: the axis as it is
  std::vector<double> times;       ///< a factor for each; empty: all 1
  bool operator==(const AxisMap&) const = default;
};

/// How one tensor of the child is made.
struct TensorPlan {
  enum class Kind {
    kCopy,      ///< the parent's, as it is
    kMap,       ///< along every axis as `axes` says; factors multiply. kZero goes before kRandomValue
    kIdentity,  ///< one where the index of the result is that of the input, at the cell `tap` of a window; else zero
    kConstant,  ///< `fill`
    kRandom,    ///< random values: whoever starts the child has them
  };
  std::string name;
  Kind kind = Kind::kRandom;
  std::string from = {};                ///< the parent's tensor; of kCopy and kMap
  std::vector<std::int64_t> shape = {}; ///< the child's
  std::vector<AxisMap> axes = {};       ///< kMap: one a dimension
  std::vector<std::int64_t> tap = {};   ///< kIdentity: one a dimension behind the second
  double fill = 0;
  std::int64_t groups = 1;  ///< kMap, above 1: the parent's is a grouped kernel, which is first written out in full
  bool operator==(const TensorPlan&) const = default;
};

/// A value of JSON for the kind's name in texts: "copy", "map", "identity", "constant", "random".
std::string_view kind_name(TensorPlan::Kind kind);

/// Everything about a start from other weights, as data: it can be stored, read, tested and replayed without weights.
struct TransferPlan {
  /// The child computes the parent's function in inference, whatever the weights are. Never said wrongly; where it
  /// holds by chance of the weights it is not said.
  bool exact = false;
  std::vector<graph::NodeId> exact_nodes;  ///< of the child, in its dependency order: values that are the parent's
  std::string inexact_reason;                        ///< where and why the first value differs; empty if exact
  std::vector<TensorPlan> tensors;         ///< one for each parameter and buffer of the child
  bool operator==(const TransferPlan&) const = default;
};

struct TransferOptions {
  /// Copies of a unit share its outgoing weights unequally, by these draws, so that they learn apart (LEMON).
  /// With `equal_shares` they do not.
  std::uint64_t seed = 0;
  bool equal_shares = false;
  /// How much a unit of a parent's node counts where the child has fewer: the largest stay. Without scores the first.
  std::map<graph::NodeId, std::vector<double>> scores = {};
};

/// Nodes of relatives that mean the same: those of one id and one operator.
std::vector<graph::NodePair> lineage_mapping(const graph::Graph& parent, const graph::Graph& child);

/// Makes the plan. `mapping`: pairs {parent's node, child's node}; pairs of different operators are passed over, and
/// inputs and outputs of the models are paired in any case.
///
/// UnitClasses (channels, features) of the child that must be one, because they meet in a sum or pass a layer of each channel
/// alone, are found by union-find over (value, axis, index). Every class of them stands for one unit of the parent, for
/// zero, or for the mean of all; then the child is walked in dependency order, and of each value it is known which
/// of the parent's it is and which index stands where. Exact is what reaches the output with all units in place.
/// New layers become identities where that keeps the function, or zero where they feed a sum beside what was there.
///
/// O(classes + nodes + elements of index lists), times the tries: what a width does when it grows (appended copies,
/// neighbouring copies, means) is chosen axis by axis, by trial. Errors: verify's, for either model.
Result<TransferPlan> plan_transfer(const graph::Graph& parent, const graph::Graph& child,
                                   std::span<const graph::NodePair> mapping, const graph::OpTable& ops,
                                   const TransferOptions& options = {});

/// The child's tensors, without those of kRandom. Float32 or float64, as the parent's are; factors are doubles
/// at first. A pure function: of the plan, the tensors, and, where a plan has random places, the seed and the names.
/// `child` says how those are drawn. Errors: kInvalidArgument naming a tensor that the parent lacks or that has another
/// shape or type than the plan reads.
Result<std::vector<Tensor>> apply(const TransferPlan& plan, std::span<const Tensor> parent, const graph::Graph& child,
                                  const graph::OpTable& ops, std::uint64_t seed);

/// The share of the child's parameters and buffers that come of the parent's: copied or mapped, not fresh, zero, or of
/// a new layer. In [0, 1]; 0 of a child without any.
double inherited_share(const TransferPlan& plan);

/// The first tensor that does not consist of elements of one of the parent's, each as it is and once; empty: there is
/// none, and what was remembered of these elements (an optimiser's slots) goes where they go.
std::string first_not_one_to_one(const TransferPlan& plan);

/// {"lanista_transfer":1, ...}; index lists that only count upwards are left out.
nlohmann::json transfer_json(const TransferPlan& plan);
/// The inverse. Errors: kDataLoss; kUnimplemented for a later version.
Result<TransferPlan> transfer_from_json(const nlohmann::json& json);

}  // namespace lanista::zoo
