#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/transfer/transfer_walk.h"

// What the room knows of each operator: one row an operator. A row that is missing costs exactness, never truth.
namespace lanista::zoo {

/// How indices of the inputs reach the output, for classes of units.
enum class UnitFlow {
  kNone,
  kAll,        ///< every axis of every input is the output's
  kChannels,   ///< dimension 1 passes, however many others there are
  kDepthwise,  ///< dimension 1, with `multiplier` results an input channel
  kConcat,
  kSlice,
  kTranspose,
  kShuffle,
  kScale,  ///< the channels of input 0 are input 1's last dimension
  kReduced,
};

/// Whether values are known to be no less than zero.
enum class SignRule { kAny, kNeverNegative, kAsInputs };

struct AxisRule {
  using Apply = ValueMapping (*)(TransferWalk&, const NodeContext&);

  std::string_view op;
  UnitFlow flow = UnitFlow::kNone;
  Apply matched = nullptr;   ///< both models have it
  Apply inserted = nullptr;  ///< the child alone; null: its value is not the parent's
  SignRule sign = SignRule::kAny;
  bool preserves_zero = false;  ///< zeros come out where zeros go in
  bool preserves_mean = false;  ///< the mean of units comes out where that mean goes in
  bool keeps_nonnegative = false;       ///< x comes out where x >= 0 goes in
  std::vector<std::string_view> zeroed = {};  ///< parameters that, at zero, make the output zero
};

/// The row, or null.
const AxisRule* find_axis_rule(std::string_view op);

// Rows by theme.
std::vector<AxisRule> shape_rules();
std::vector<AxisRule> pointwise_rules();
std::vector<AxisRule> layer_rules();
std::vector<AxisRule> norm_rules();
std::vector<AxisRule> sequence_rules();

}  // namespace lanista::zoo
