#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/graph/shape.h"

namespace lanista::step {

/// What a sample is to be predicted as: a class; numbers; or labels, which it has or has not, each for itself.
enum class TargetKind { kClasses, kNumbers, kMultilabel };
/// "classes", "numbers", "labels".
std::string_view target_kind_name(TargetKind kind);

/// A loss: everything the system knows about it beside its kernels (kernels/family/loss.inc.h, by the same name).
struct Loss {
  std::string name;  ///< as studies and recipes write it: "cross_entropy"
  /// Of classes the target is a class number a sample, or one a position of predictions [N, positions, classes], the
  /// mean over which is the sample's loss; else real values in the prediction's shape, of labels 0 or 1.
  TargetKind kind = TargetKind::kNumbers;
  /// Whether it takes predictions of this shape; the error says what it wants.
  std::function<Result<void>(const graph::Shape& prediction)> fits;
  /// Of prediction and target: the loss of each sample [N], and what its gradient may want.
  graph::OpDef forward;
  /// The gradient of a batch's mean loss by the prediction, from the prediction and the target.
  graph::OpDef gradient;
  std::optional<std::uint32_t> saved;  ///< output of `forward` that the gradient reads in the prediction's place

  bool of_classes() const { return kind == TargetKind::kClasses; }
};

/// All losses; the first for each kind of target is what a study has if it names none.
const std::vector<Loss>& losses();
/// Null if there is none of that name.
const Loss* find_loss(std::string_view name);
std::vector<std::string> loss_names();
/// The default for a kind of target.
const Loss& default_loss(TargetKind kind);

}  // namespace lanista::step
