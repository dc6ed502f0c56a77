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

/// The kind of the target of a sample.
enum class TargetKind {
  kClasses,    ///< one class number, or one for each position of a sequence
  kNumbers,    ///< real numbers
  kMultilabel  ///< several labels, each 0 or 1
};
/// The name of a target kind in files: "classes", "numbers" or "labels".
std::string_view target_kind_name(TargetKind kind);

/// The definition of a loss, without its kernels. They have the same name in kernels/family/loss.inc.h.
struct Loss {
  std::string name;  ///< name in studies and recipes, such as "cross_entropy"
  /// Kind of the target. For classes the target is one class number a sample. For predictions [N, positions, classes]
  /// it is one a position, and the loss of the sample is the mean over positions. Otherwise the target has the shape of
  /// the prediction.
  TargetKind kind = TargetKind::kNumbers;
  /// Checks the shape of the predictions. Errors: kInvalidArgument with the shapes that the loss accepts.
  std::function<Result<void>(const graph::Shape& prediction)> fits;
  /// Operator from prediction and target to the loss of each sample [N], and to a further output for the gradient.
  graph::OpDef forward;
  /// Operator for the gradient of the mean loss of a batch with respect to the prediction.
  graph::OpDef gradient;
  std::optional<std::uint32_t> saved;  ///< output of `forward` that `gradient` reads instead of the prediction

  /// Whether targets are class numbers.
  bool of_classes() const { return kind == TargetKind::kClasses; }
};

/// All losses. The first one of each target kind is the default of that kind.
const std::vector<Loss>& losses();
/// The loss with this name, or null.
const Loss* find_loss(std::string_view name);
/// The names of all losses, in the order of losses().
std::vector<std::string> loss_names();
/// The default loss of a target kind.
const Loss& default_loss(TargetKind kind);

}  // namespace lanista::step
