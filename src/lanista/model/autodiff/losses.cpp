// The losses. To add one, add an entry here and kernels of its name in kernels/family/loss.inc.h,
// backends/aten/aten_loss.cpp and backends/cuda_blocks/device/types.inc.h below exec.
#include <algorithm>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/enum_table.h"
#include "lanista/model/autodiff/loss.h"
#include "lanista/model/autodiff/step_ops.h"

namespace lanista::autodiff {
namespace {

ValueType per_sample(DType dtype) { return {Shape{{graph::kBatch}}, dtype}; }

/// Whether a shape has scores of classes, for samples or for positions of sequences.
bool holds_classes(const Shape& shape) { return (shape.rank() == 2 || shape.rank() == 3) && shape.dims.back() >= 2; }

constexpr std::string_view kClassShapes = "[N, classes] or [N, positions, classes] with at least two classes";

/// The target type for logits: a class number for each row.
ValueType labels_of(Shape logits) {
  logits.dims.pop_back();
  return {std::move(logits), DType::kIndex};
}

std::string expected_shape_text(const std::string& words) { return words + " needs "; }

Result<void> require_class_scores(const OpArgs& args, const std::string& words) {
  LANISTA_TRY(ops::require_real(args));
  const Shape& shape = ops::shape_of(args);
  if (!holds_classes(shape)) {
    return ops::shape_error(expected_shape_text(words) + std::string(kClassShapes) + ", but has " + shape.text());
  }
  return ops::require_type(args, 1, labels_of(shape), "the target");
}

/// Defines a loss of classes. Its further output is the class probabilities, from which the gradient is computed.
Loss of_classes(const std::string& name, const std::string& words, const std::string& help) {
  const auto forward = [words](const OpArgs& args) -> Types {
    LANISTA_TRY(require_class_scores(args, words));
    return ops::values({per_sample(DType::kReal), args.inputs[0]});
  };
  const auto gradient = [words](const OpArgs& args) -> Types {
    LANISTA_TRY(require_class_scores(args, words));
    return ops::value(ops::shape_of(args));
  };
  return {.name = name,
          .kind = TargetKind::kClasses,
          .fits = [words](const Shape& prediction) -> Result<void> {
            if (holds_classes(prediction)) return {};
            return Error{Code::kInvalidArgument,
                         expected_shape_text(words) + "an output of shape " + std::string(kClassShapes) +
                             ", but the model's is " + prediction.text(),
                         ""};
          },
          .forward = step_op(name, help, 2, forward),
          .gradient = step_op(name + "_grad", "Gradient of a batch's mean " + words + " by the logits.", 2, gradient),
          .saved = 1};
}

Types infer_of_numbers(const OpArgs& args) {
  LANISTA_TRY(ops::require_same_shapes(args));
  return ops::values({per_sample(DType::kReal)});
}

/// Defines a loss of numbers or labels: the mean of an error over the predictions of a sample.
Loss of_numbers(const std::string& name, const std::string& error, TargetKind kind = TargetKind::kNumbers) {
  return {.name = name,
          .kind = kind,
          .fits = [](const Shape&) { return Result<void>(); },
          .forward = step_op(name, "Mean " + error + " of each sample.", 2, infer_of_numbers),
          .gradient = step_op(name + "_grad", "Gradient of a batch's mean " + error + " by the prediction.", 2,
                              ops::infer_all_equal),
          .saved = {}};
}

}  // namespace

std::string_view target_kind_name(TargetKind kind) {
  static constexpr EnumTable<TargetKind, std::string_view, 3> kNames{
      {{TargetKind::kClasses, "classes"}, {TargetKind::kNumbers, "numbers"}, {TargetKind::kMultilabel, "labels"}}};
  return entry_of(kNames, kind);
}

const std::vector<Loss>& losses() {
  static const std::vector<Loss> kAll{
      of_classes("cross_entropy", "cross-entropy", "Loss of each sample in nats, and the class probabilities."),
      of_classes(
          "focal", "focal loss",
          "Cross-entropy, each class's part by the square of what its probability lacks of 1 (Lin et al. 2017)."),
      of_numbers("mse", "squared error"),
      of_numbers("mae", "absolute error"),
      of_numbers("huber", "Huber error (1964, its bound is 1)"),
      of_numbers("bce", "binary cross-entropy, by a sigmoid,", TargetKind::kMultilabel)};
  return kAll;
}

const Loss* find_loss(std::string_view name) {
  const auto found = std::ranges::find(losses(), name, &Loss::name);
  return found == losses().end() ? nullptr : &*found;
}

std::vector<std::string> loss_names() {
  std::vector<std::string> names;
  for (const Loss& each : losses()) names.push_back(each.name);
  return names;
}

const Loss& default_loss(TargetKind kind) {
  const auto found = std::ranges::find(losses(), kind, &Loss::kind);
  LANISTA_CHECK(found != losses().end(), "no loss for a kind of target");
  return *found;
}

}  // namespace lanista::autodiff
