#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/chunk.h"

namespace lanista::program {

/// A value that every sample has and that is summed over samples.
struct SampleSum {
  /// What the value is. "Classes", "numbers" and "labels" name the kind of target that it suits.
  enum class Of {
    /// Classes: 1 if the label is among the `number` largest logits, else 0; of equal logits the lower class index
    /// wins.
    kTop,
    kLogLoss,        ///< Classes: minus the logarithm of the label's softmax probability.
    kAbsoluteError,  ///< Numbers: absolute error, mean over a sample's predictions.
    kRelativeError,  ///< Numbers: absolute error / max(|target|, epsilon of double), mean over a sample's predictions.
    kPinball,        ///< Numbers, e = target - prediction: `number` * e if e > 0, else (`number` - 1) * e; mean over a
                     ///< sample.
    /// Labels: share, from 0 to 1, of a sample's labels that are predicted right; a logit above 0 predicts the label.
    kRightLabels,
    kAllLabels,  ///< Labels: 1 if all labels of a sample are predicted right, else 0.
    kLabelLoss,  ///< Labels: binary cross-entropy, mean over a sample's labels.
  };
  Of of = Of::kTop;   ///< The summed value.
  double number = 1;  ///< The k of kTop, quantile in (0, 1) of kPinball; other values ignore it.
};

/// Mean and scale of the targets, with which a program was trained on (target - mean) / scale. Each has one entry for
/// each number of a prediction. Empty: the targets were not scaled. Predictions and metrics are in the original unit;
/// the loss is that of scaled targets.
struct TargetScaling {
  std::vector<double> mean = {}, scale = {};  ///< In the original unit of the targets.
  /// Numbers that targets and predictions lack in that unit (data::DataSpec::target_origin); empty: none. Only metrics
  /// of the size of a target read them.
  std::vector<double> origin = {};

  /// Converts predictions of a program, [n, entries], in place into the original unit: prediction * scale + mean. Does
  /// nothing without entries.
  void to_original(std::span<double> predictions) const;
  /// Converts numbers [n, entries] from the original unit in place: (number - mean) / scale, in double. Does nothing
  /// without entries.
  void to_standardised(std::span<double> numbers) const;
};

/// The metrics that are requested of predictions. Those for another kind of target must not be requested.
struct Metrics {
  std::string loss;                  ///< Name in autodiff::losses().
  std::vector<SampleSum> sums = {};  ///< Values that are summed over samples.
  bool labels = false;               ///< True: targets are labels, 0 or 1, and predictions their logits.
  /// True: counts of (truth, prediction); for classes one matrix, for labels one 2 x 2 matrix a label.
  bool confusion = false;
  bool calibration = false;  ///< Classes, true: calibration bins.
  bool columns = false;      ///< Numbers, true: error sums of each number of a prediction.
  bool scores = false;       ///< True: all predictions with their targets, which need memory for every sample.
  /// Numbers: scaling of the targets. The loss is of standardised targets, all else in the original unit.
  TargetScaling unit = {};
};

/// One calibration bin: the rows with the largest class probability in one of kCalibrationBins equal intervals
/// of (0, 1]. A row with an infinite largest logit is in the first bin, with the probability NaN.
struct CalibrationBin {
  std::int64_t rows = 0, right = 0;  ///< Rows in the bin, and those of them with the right prediction.
  double probability = 0;            ///< Sum over the bin's rows of the largest probability.
};
inline constexpr std::size_t kCalibrationBins = 15;  ///< Number of calibration bins.

/// Error sums of one number of the predictions.
struct ErrorColumn {
  double squared_errors = 0;  ///< Sum over samples of (target - prediction)^2.
  /// Mean of the targets, and sum of their squared distances from it (Welford 1962).
  double target_mean = 0, target_squares = 0;
};

/// Metrics as sums over samples; a mean is a sum divided by `samples`.
struct MetricSums {
  double loss = 0;           ///< Sum over samples of the loss.
  std::vector<double> of;    ///< Sums over samples of Metrics::sums, in that order.
  std::int64_t samples = 0;  ///< Samples added; if samples have a label at every position, their positions.
  std::int64_t num_nan = 0;  ///< Samples with a NaN in their prediction, which are in no confusion count and no bin.
  /// Classes: [label, predicted class], ties to the lower class. Labels: [label, truth, prediction].
  std::vector<std::int64_t> confusion;
  std::vector<CalibrationBin> bins;  ///< kCalibrationBins entries in ascending order of probability, if requested.
  std::vector<ErrorColumn> columns;  ///< One for each number of a prediction, if requested.
  std::vector<double> scores;        ///< All predictions [samples, width], rows with NaN included, if requested.
  std::vector<std::int32_t> labels;  ///< Class of each row of `scores`, for classes.
  std::vector<float> targets;        ///< Targets of `scores` for numbers and labels: [samples, width].
};

/// The evaluation of one lane: requested metrics and their sums.
struct LaneMetrics {
  std::int64_t lane = 0;               ///< Index of the lane.
  const Metrics* requested = nullptr;  ///< Metrics to measure; never null.
  MetricSums sums = {};                ///< Sums to which the evaluation adds.
};

/// Returns the next batch of an evaluation, valid until the next call, or null at the end. Number targets are in their
/// original unit.
using BatchSource = std::function<const Batch*()>;

/// Adds samples with class targets to `sums`: logits [n, width], labels [n], losses [n]; `width` is the number of
/// classes. A row with a NaN counts as wrong in kTop and makes the sum of kLogLoss NaN.
void add_classes(const Metrics& requested, std::int64_t width, std::span<const double> logits,
                 std::span<const std::int32_t> labels, std::span<const double> losses, MetricSums& sums);
/// Adds samples with number targets to `sums`: predictions and targets [n, width] in the original unit, losses [n].
void add_numbers(const Metrics& requested, std::int64_t width, std::span<const double> predictions,
                 std::span<const float> targets, std::span<const double> losses, MetricSums& sums);

/// Adds samples with label targets to `sums`: logits and targets (0 or 1) [n, width], losses [n]; `width` is the number
/// of labels. A label with a NaN logit counts as wrong.
void add_labels(const Metrics& requested, std::int64_t width, std::span<const double> logits,
                std::span<const float> targets, std::span<const double> losses, MetricSums& sums);

/// Computes metrics of predictions in host memory, in double and in sample order. So results do not depend on the
/// division into batches.
///
/// Predictions are [n, width] in the original unit of the targets (TargetScaling::to_original). Targets are labels [n]
/// or numbers [n, width], as the loss needs. If samples have a label at every position, n counts positions.
class HostMetrics {
 public:
  /// `width` is the number of classes, numbers or labels of a row. `level` selects the kernels of the loss. `requested`
  /// must outlive this.
  HostMetrics(const Metrics& requested, std::int64_t width, kernels::Isa level);

  /// Adds the requested metrics of a batch to `sums`. `labels` are read for class losses, `targets` for the others.
  void add(std::span<const double> predictions, std::span<const std::int32_t> labels, std::span<const float> targets,
           MetricSums& sums);
  /// Returns the loss of each row, of standardised numbers if there is a scaling. It is valid until the next call of a
  /// function of this object. `label_smoothing` is for class losses. Other arguments are those of add().
  std::span<const double> losses(std::span<const double> predictions, std::span<const std::int32_t> labels,
                                 std::span<const float> targets, double label_smoothing = 0);

 private:
  const Metrics& requested_;
  const kernels::LossKernel<double>* loss_;
  std::int64_t width_;
  std::vector<double> losses_, scratch_, standard_;
};

}  // namespace lanista::program
