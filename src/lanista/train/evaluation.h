#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lanista/kernels/kernels.h"
#include "lanista/step/training_step.h"
#include "lanista/study/config.h"
#include "lanista/train/metrics.h"

namespace lanista::train {

/// The loss a recipe names.
step::Loss loss_of(const study::Recipe& recipe);
/// What a recipe says of a training step's structure.
step::StepOptions step_options_of(const study::Recipe& recipe);

/// Measures predictions: loss and metrics over samples, in double and in sample order, whatever the batches and the
/// precision were.
class Evaluation {
 public:
  /// `metrics` empty: accuracy for classes, mae for numbers. `width`: numbers a prediction has.
  Evaluation(step::Loss loss, const std::vector<std::string>& metrics, std::int64_t width, kernels::Isa isa);

  /// Predictions [n, width] with labels [n] (cross-entropy) or targets [n, width] (mse).
  void add(std::span<const double> predictions, std::span<const std::int32_t> labels, std::span<const float> targets);
  /// Means over all samples so far, by name with `prefix` in front ("val_accuracy").
  std::map<std::string, double> means(const std::string& prefix) const { return sums_.means(prefix); }

 private:
  step::Loss loss_;
  std::int64_t width_;
  const kernels::Kernels<double>* kernels_;
  MetricSums sums_;
  std::vector<double> losses_, scratch_;
};

}  // namespace lanista::train
