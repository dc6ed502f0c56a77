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

namespace lanista::autodiff {

/// What the target of a sample is.
enum class TargetKind {
  kClasses,    ///< one class number, or one for each position of a sequence
  kNumbers,    ///< real numbers
  kMultilabel  ///< several labels, each 0 or 1
};
/// The name of a target kind in files: "classes", "numbers" or "labels". The text lives as long as the program.
std::string_view target_kind_name(TargetKind kind);

/// The definition of a loss function, without its kernels, which have the same name in kernels/family/loss.inc.h.
struct Loss {
  std::string name;  ///< name in studies and recipes, such as "cross_entropy"
  /// Kind of the target. For classes the target is one class number a sample. For predictions [N, positions, classes]
  /// it is one a position, and the loss of the sample is the mean over positions. Otherwise the target has the shape of
  /// the prediction.
  TargetKind kind = TargetKind::kNumbers;
  /// Checks that the loss accepts predictions of this shape. Errors: kInvalidArgument with the shapes that it accepts.
  std::function<Result<void>(const graph::Shape& prediction)> fits;
  /// Operator that reads prediction and target, and gives the loss of each sample [N]. A loss of classes gives the
  /// class probabilities as output 1, for the gradient.
  graph::OpDef forward;
  /// Operator that computes the gradient of the mean loss of the batch with respect to the prediction. It reads the
  /// value that `saved` names, then the target.
  graph::OpDef gradient;
  std::optional<std::uint32_t> saved;  ///< output number of `forward` that `gradient` reads; absent: prediction

  /// True if targets are class numbers.
  bool of_classes() const { return kind == TargetKind::kClasses; }
};

/// All losses. The first one of each target kind is the default of that kind. The list lives as long as the program.
const std::vector<Loss>& losses();
/// The loss with this name, or null. The pointer is valid as long as the program runs.
const Loss* find_loss(std::string_view name);
/// The names of all losses, in the order of losses().
std::vector<std::string> loss_names();
/// The default loss of a target kind.
const Loss& default_loss(TargetKind kind);

}  // namespace lanista::autodiff
