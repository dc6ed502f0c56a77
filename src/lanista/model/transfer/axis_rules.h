#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/transfer/transfer_walk.h"

// The transfer rules of operators, one row each. An operator without a row is not transferred exactly.
namespace lanista::zoo {

/// How the indices along the axes of the inputs become indices of the output. `UnitClasses` reads it.
enum class UnitFlow {
  kNone,       ///< No index of an input is an index of the output.
  kAll,        ///< Every index of every axis of every input is the same index of the output.
  kChannels,   ///< The indices of dimension 1 are kept.
  kDepthwise,  ///< Channel t of the output comes from input channel t / `multiplier`.
  kConcat,     ///< The inputs are concatenated along one axis.
  kSlice,      ///< The output is a part of the input along one axis.
  kTranspose,  ///< The axes are permuted.
  kShuffle,    ///< The channels are permuted.
  kScale,      ///< The channels of input 0 are the last dimension of input 1.
  kReduced,    ///< Some axes are reduced, the others are kept.
};

/// Which sign the values of an operator's output have.
enum class SignRule {
  kAny,            ///< any sign
  kNeverNegative,  ///< at least 0, always
  kAsInputs        ///< at least 0 if all inputs are
};

/// The transfer rule of one operator: how weights of the parent become weights of the child.
struct AxisRule {
  /// A function that plans the tensors of a node of the child, and returns the relation of its value to the parent.
  using Apply = ValueMapping (*)(TransferWalk&, const NodeContext&);

  std::string_view op;              ///< Name of the operator.
  UnitFlow flow = UnitFlow::kNone;  ///< How indices of the inputs reach the output.
  Apply matched = nullptr;          ///< Rule for a node that has a partner in the parent.
  Apply inserted = nullptr;         ///< Rule for a node that only the child has; null: value unrelated to the parent.
  SignRule sign = SignRule::kAny;   ///< Sign of the output.
  bool preserves_zero = false;      ///< True: the output is zero if all inputs are zero.
  bool preserves_mean = false;      ///< True: a unit that is the mean of all units stays the mean.
  std::vector<std::string_view> zeroed = {};  ///< Parameters that make the output zero if all are zero.
};

/// The rule of an operator by name, or null if it has none. The pointer is valid as long as the program runs.
const AxisRule* find_axis_rule(std::string_view op);

/// The rule of an operator that keeps zeros, means and signs of its inputs.
AxisRule keeping(std::string_view op, UnitFlow flow, AxisRule::Apply matched, AxisRule::Apply inserted = nullptr);

/// The rules of the input and of operators without parameters that move, resize, reduce or mix elements, such as
/// concat, transpose, pools, mean, softmax and matmul.
std::vector<AxisRule> shape_rules();
/// The rules of element-wise operators and joins.
std::vector<AxisRule> pointwise_rules();
/// The rules of linear layers and convolutions.
std::vector<AxisRule> layer_rules();
/// The rules of normalisations.
std::vector<AxisRule> norm_rules();
/// The rules of operators over token sequences.
std::vector<AxisRule> sequence_rules();

}  // namespace lanista::zoo
