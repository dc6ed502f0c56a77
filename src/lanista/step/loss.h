#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/graph/op.h"
#include "lanista/graph/shape.h"

namespace lanista::step {

/// A loss: everything the system knows about it beside its kernels (kernels/family/loss.inc.h, by the same name).
struct Loss {
  std::string name;      ///< as studies and recipes write it: "cross_entropy"
  bool classes = false;  ///< the target is a class number a sample; else real values, in the prediction's shape
  /// Whether it takes predictions of this shape; the error says what it wants.
  std::function<Result<void>(const graph::Shape& prediction)> fits;
  /// Of prediction and target: the loss of each sample [N], and what its gradient may want.
  graph::OpDef forward;
  /// The gradient of a batch's mean loss by the prediction, from the prediction and the target.
  graph::OpDef gradient;
  std::optional<std::uint32_t> saved;  ///< output of `forward` that the gradient reads in the prediction's place
};

/// All losses; the first for each kind of target is what a study has if it names none.
const std::vector<Loss>& losses();
/// Null if there is none of that name.
const Loss* find_loss(std::string_view name);
std::vector<std::string> loss_names();
/// The default for a kind of target.
const Loss& default_loss(bool classes);

}  // namespace lanista::step
