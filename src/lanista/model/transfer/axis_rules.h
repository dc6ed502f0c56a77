#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/transfer/transfer_walk.h"

// The transfer rules of operators, one row each. An operator without a row is not transferred exactly.
namespace lanista::zoo {

/// The transfer rule of one operator: how weights of the parent become weights of the child.
struct AxisRule {
  /// A function that plans the tensors of a node of the child, and returns the relation of its value to the parent.
  using Apply = ValueMapping (*)(TransferWalk&, const NodeContext&);

  std::string_view op = {};  ///< Name of the operator; empty: every operator with these facts (OpDef::facts).
  Apply matched = nullptr;   ///< Rule for a node that has a partner in the parent.
  Apply inserted = nullptr;  ///< Rule for a node that only the child has; null: value unrelated to the parent.
  std::vector<std::string_view> zeroed = {};  ///< Parameters that make the output zero if all are zero.
};

/// The rule of an operator: its row, or the rule that follows from its facts. Null if it has neither. The pointer is
/// valid as long as the program runs.
const AxisRule* find_axis_rule(const graph::OpDef& def);

/// The rule of an element-wise operator without a row, by its facts; null if its units do not flow as
/// UnitFlow::kAll.
const AxisRule* pointwise_rule(const graph::OpDef& def);
/// The rule of a window over images without a row, by its facts; null if its units do not flow as
/// UnitFlow::kChannels.
const AxisRule* window_rule(const graph::OpDef& def);

/// The rules of the input and of operators without parameters that move, reduce or mix elements, such as concat,
/// transpose, mean, softmax and matmul.
std::vector<AxisRule> shape_rules();
/// The rules of joins, and of operators that change nothing or give zeros.
std::vector<AxisRule> pointwise_rules();
/// The rules of linear layers and convolutions.
std::vector<AxisRule> layer_rules();
/// The rules of normalisations.
std::vector<AxisRule> norm_rules();
/// The rules of operators over token sequences.
std::vector<AxisRule> sequence_rules();

}  // namespace lanista::zoo
