#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/transfer/transfer_walk.h"

// The transfer rules of operators, one row each. An operator without a row is not transferred exactly.
namespace lanista::zoo {

/// How the indices of the inputs' axes reach the output. `UnitClasses` reads it.
enum class UnitFlow {
  kNone,       ///< No index of an input is an index of the output.
  kAll,        ///< Every axis of every input is an axis of the output.
  kChannels,   ///< Dimension 1 is kept.
  kDepthwise,  ///< Dimension 1 is kept, with `multiplier` results for each input channel.
  kConcat,     ///< The inputs are concatenated along one axis.
  kSlice,      ///< The output is a part of the input along one axis.
  kTranspose,  ///< The axes are permuted.
  kShuffle,    ///< The channels are permuted.
  kScale,      ///< The channels of input 0 are the last dimension of input 1.
  kReduced,    ///< Some axes are reduced, the others are kept.
};

/// Whether the values of an operator are at least zero.
enum class SignRule {
  kAny,            ///< no guarantee
  kNeverNegative,  ///< always
  kAsInputs        ///< if all inputs are
};

/// The transfer rule of one operator.
struct AxisRule {
  /// A function that plans the tensors of a node and returns the relation of its value to the parent.
  using Apply = ValueMapping (*)(TransferWalk&, const NodeContext&);

  std::string_view op;              ///< Name of the operator.
  UnitFlow flow = UnitFlow::kNone;  ///< How indices reach the output.
  Apply matched = nullptr;          ///< For a node that has a partner in the parent.
  Apply inserted = nullptr;         ///< For a node that the child alone has; null: its value is unrelated to the parent
  SignRule sign = SignRule::kAny;   ///< Sign of the output.
  bool preserves_zero = false;      ///< The output is zero if all inputs are zero.
  bool preserves_mean = false;      ///< A unit that is the mean of all units stays the mean.
  bool keeps_nonnegative = false;   ///< The output equals an input that is at least zero.
  std::vector<std::string_view> zeroed = {};  ///< Parameters that make the output zero if they are zero.
};

/// The rule of an operator, or null.
const AxisRule* find_axis_rule(std::string_view op);

/// The rules of operators that rearrange elements.
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
