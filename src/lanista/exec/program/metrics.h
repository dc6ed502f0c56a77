#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/chunk.h"

namespace lanista::nn {

/// A value that every sample has and that is summed over samples.
struct SampleSum {
  /// What the value is. "Classes", "numbers" and "labels" name the kind of target that it suits.
  enum class Of {
    kTop,            ///< Classes: 1 if the label is among the `number` largest logits; ties by class index.
    kLogLoss,        ///< Classes: minus the logarithm of the label's softmax probability.
    kAbsoluteError,  ///< Numbers: absolute error, mean over a sample's predictions.
    kRelativeError,  ///< Numbers: absolute error / max(|target|, epsilon of double), mean over a sample.
    kPinball,        ///< Numbers, e = target - prediction: `number` e if e > 0, else (`number` - 1) e.
    kRightLabels,    ///< Labels: share of right labels of a sample; a logit above 0 predicts the label.
    kAllLabels,      ///< Labels: 1 if all labels of a sample are right.
    kLabelLoss,      ///< Labels: binary cross-entropy, mean over a sample's labels.
  };
  Of of = Of::kTop;
  double number = 1;  ///< k of kTop, quantile of kPinball
};

/// Mean and scale of targets that a program was trained on as (target - mean) / scale, one entry a number of a
/// prediction. Empty: the targets were not scaled.
struct TargetScaling {
  std::vector<double> mean = {}, scale = {};

  /// Converts predictions of a program, [n, entries], into the original unit of the targets.
  void to_original(std::span<double> predictions) const;
  /// Converts numbers in the original unit to standardised ones, without rounding to float.
  void to_standardised(std::span<double> numbers) const;
};

/// The metrics that are requested of predictions. Those for another kind of target must not be requested.
struct Metrics {
  std::string loss;  ///< name in step::losses()
  std::vector<SampleSum> sums = {};
  bool labels = false;       ///< Whether targets are labels, 0 or 1, and predictions their logits.
  bool confusion = false;    ///< Classes: the confusion matrix; labels: one matrix a label.
  bool calibration = false;  ///< Classes: calibration bins.
  bool columns = false;      ///< Numbers: error sums of each number of a prediction.
  bool scores = false;       ///< All predictions with their targets, which need memory for every sample.
  TargetScaling unit = {};   ///< Numbers: the loss is of standardised targets, all else in the original unit.
};

/// The rows with a largest probability in one of kCalibrationBins equal parts of (0, 1].
struct CalibrationBin {
  std::int64_t rows = 0, right = 0;
  double probability = 0;  ///< sum over rows
};
inline constexpr std::size_t kCalibrationBins = 15;

/// Error sums of one number of the predictions.
struct ErrorColumn {
  double squared_errors = 0;                   ///< sum over samples
  double target_mean = 0, target_squares = 0;  ///< squares: sum of squared distances from the mean (Welford 1962)
};

/// Metrics as sums over samples; a mean is a sum divided by `samples`.
struct MetricSums {
  double loss = 0;
  std::vector<double> of;  ///< sums of Metrics::sums, in their order
  std::int64_t samples = 0;
  std::int64_t num_nan = 0;             ///< Samples with a NaN prediction, which are in no count or bin.
  std::vector<std::int64_t> confusion;  ///< [label, predicted class], ties to the first class; for labels
                                        ///< [width, truth, prediction].
  std::vector<CalibrationBin> bins;     ///< kCalibrationBins.
  std::vector<ErrorColumn> columns;     ///< One a number of a prediction.
  std::vector<double> scores;           ///< [samples, width], also rows with NaN.
  std::vector<std::int32_t> labels;     ///< Targets of `scores` for classes.
  std::vector<float> targets;           ///< Targets of `scores` for numbers and labels, in their shape.
};

/// The evaluation of one lane: requested metrics and their sums.
struct LaneMetrics {
  std::int64_t lane = 0;
  const Metrics* requested = nullptr;
  MetricSums sums = {};
};

/// Returns the next batch of an evaluation, valid until the next call, or null at the end. Targets are in their
/// original unit.
using BatchSource = std::function<const Batch*()>;

/// Adds samples with class targets to `sums`: logits [n, width], labels [n], losses [n]. A row with a NaN counts as
/// wrong.
void add_classes(const Metrics& requested, std::int64_t width, std::span<const double> logits,
                 std::span<const std::int32_t> labels, std::span<const double> losses, MetricSums& sums);
/// Adds samples with number targets to `sums`: predictions and targets [n, width], losses [n].
void add_numbers(const Metrics& requested, std::int64_t width, std::span<const double> predictions,
                 std::span<const float> targets, std::span<const double> losses, MetricSums& sums);

/// Adds samples with label targets to `sums`: logits and targets (0 or 1) [n, width], losses [n]. A label with a NaN
/// logit counts as wrong.
void add_labels(const Metrics& requested, std::int64_t width, std::span<const double> logits,
                std::span<const float> targets, std::span<const double> losses, MetricSums& sums);

/// Computes metrics of predictions in host memory, in double and in sample order. So results do not depend on the
/// division into batches.
///
/// Predictions are [n, width] in the original unit of the targets (TargetScaling::to_original). Targets are labels [n]
/// or numbers [n, width], as the loss needs. If samples have a label at every position, n counts positions.
class HostMetrics {
 public:
  /// `level` selects the kernels of the loss. `requested` must outlive this.
  HostMetrics(const Metrics& requested, std::int64_t width, kernels::Isa level);

  /// Adds the requested metrics of a batch to `sums`.
  void add(std::span<const double> predictions, std::span<const std::int32_t> labels, std::span<const float> targets,
           MetricSums& sums);
  /// Returns the loss of each sample, valid until the next call.
  std::span<const double> losses(std::span<const double> predictions, std::span<const std::int32_t> labels,
                                 std::span<const float> targets, double label_smoothing = 0);

 private:
  const Metrics& requested_;
  const kernels::LossKernel<double>* loss_;
  std::int64_t width_;
  std::vector<double> losses_, scratch_, standard_;
};

}  // namespace lanista::nn
