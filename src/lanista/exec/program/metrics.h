#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/chunk.h"

namespace lanista::nn {

/// A number that every sample has, to be summed.
struct SampleSum {
  enum class Of {
    kTop,            ///< of classes: 1 if the label is among the `number` largest, where equal ones go by their number
    kLogLoss,        ///< of classes: minus the logarithm of the label's probability by softmax
    kAbsoluteError,  ///< of numbers, as the next two: the mean over a sample's predictions
    kRelativeError,  ///< absolute error by the target's size, which is at least the double's epsilon
    kPinball,        ///< of the error e of target minus prediction: `number` e above 0, (`number` - 1) e below
    kRightLabels,    ///< of labels: the share of a sample's that are right, where a logit above 0 says that it has one
    kAllLabels,      ///< of labels: 1 if all of a sample's are right
    kLabelLoss,      ///< of labels: the mean of minus the logarithm of what the sigmoid gives the truth
  };
  Of of = Of::kTop;
  double number = 1;
};

/// Targets a program was trained on as (target - mean) / scale: one entry a number of a prediction. Empty: on the
/// targets themselves.
struct TargetScaling {
  std::vector<double> mean = {}, scale = {};

  /// Turns what a program predicts, [n, entries], into the targets' own unit.
  void to_original(std::span<double> predictions) const;
  /// What training sees for numbers in their own unit, unrounded.
  void to_standardised(std::span<double> numbers) const;
};

/// What is asked of predictions. What of it is for classes or for numbers alone must not be asked of the others.
struct Metrics {
  std::string loss;  ///< of step::losses()
  std::vector<SampleSum> sums = {};
  bool labels = false;       ///< targets are labels, 0 or 1, and predictions their logits
  bool confusion = false;    ///< of classes: how often which class is predicted for which; of labels: of each
  bool calibration = false;  ///< of classes
  bool columns = false;      ///< of numbers: what each of a prediction's adds up to
  bool scores = false;       ///< all predictions, with what they should be: memory as long as the answer lives
  TargetScaling unit = {};      ///< of numbers: the loss is taken as training takes it, all else in the targets' own unit
};

/// Rows whose largest probability lies in one of kCalibrationBins equal parts of (0, 1].
struct CalibrationBin {
  std::int64_t rows = 0, right = 0;
  double probability = 0;  ///< summed
};
inline constexpr std::size_t kCalibrationBins = 15;

/// One number of the predictions.
struct ErrorColumn {
  double squared_errors = 0;                   ///< summed
  double target_mean = 0, target_squares = 0;  ///< squares: summed distances from the mean (Welford 1962)
};

/// The answer, summed over samples: a mean is a sum divided by their number.
struct MetricSums {
  double loss = 0;
  std::vector<double> of;  ///< each of Metrics::sums
  std::int64_t samples = 0;
  std::int64_t num_nan = 0;                ///< samples with a NaN prediction: in no count or bin
  std::vector<std::int64_t> confusion;  ///< [label, prediction], the largest, of equal ones the first; of labels
                                        ///< [width, truth, prediction]
  std::vector<CalibrationBin> bins;     ///< kCalibrationBins
  std::vector<ErrorColumn> columns;     ///< one each number of a prediction
  std::vector<double> scores;           ///< [samples, width], the lost ones too
  std::vector<std::int32_t> labels;     ///< of the scores
  std::vector<float> targets;           ///< of the scores, in their shape
};

/// One lane's evaluation: what is asked, and the answer.
struct LaneMetrics {
  std::int64_t lane = 0;
  const Metrics* requested = nullptr;
  MetricSums sums = {};
};

/// The next batch of an evaluation, which lives until the one after it is asked for; null: there is none. Its targets
/// are in their own unit.
using BatchSource = std::function<const Batch*()>;

/// Adds classes to `sums`: logits [n, width], labels [n], per-sample losses [n]. A row with a NaN counts as wrong.
void add_classes(const Metrics& requested, std::int64_t width, std::span<const double> logits,
                 std::span<const std::int32_t> labels, std::span<const double> losses, MetricSums& sums);
/// The same for numbers: predictions and targets [n, width], per-sample losses [n].
void add_numbers(const Metrics& requested, std::int64_t width, std::span<const double> predictions,
                 std::span<const float> targets, std::span<const double> losses, MetricSums& sums);

/// The same for labels: logits and targets, 0 or 1, [n, width]. A label with a NaN counts as wrong.
void add_labels(const Metrics& requested, std::int64_t width, std::span<const double> logits,
                std::span<const float> targets, std::span<const double> losses, MetricSums& sums);

/// Measures predictions that lie on the host: in double and in sample order, whatever the batches and the precision
/// were. Predictions are [n, width], with labels [n] or targets [n, width], as the loss wants them; both in the
/// targets' own unit (see TargetScaling::to_original). Where samples have a label at every position, n counts positions: each
/// is a row of its own for whatever is measured.
class HostMetrics {
 public:
  /// With the kernels of that level. `requested` outlives this.
  HostMetrics(const Metrics& requested, std::int64_t width, kernels::Isa level);

  void add(std::span<const double> predictions, std::span<const std::int32_t> labels, std::span<const float> targets,
           MetricSums& sums);
  /// The loss of each sample; it lives until the next call.
  std::span<const double> losses(std::span<const double> predictions, std::span<const std::int32_t> labels,
                                 std::span<const float> targets, double label_smoothing = 0);

 private:
  const Metrics& requested_;
  const kernels::LossKernel<double>* loss_;
  std::int64_t width_;
  std::vector<double> losses_, scratch_, standard_;
};

}  // namespace lanista::nn
