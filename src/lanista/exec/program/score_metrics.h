#pragma once

#include <cstdint>
#include <span>

#include "lanista/exec/program/metrics.h"

namespace lanista::nn {

/// The softmax probabilities of a row of logits without NaN, computed by logarithms. So probabilities near 0 and near 1
/// keep their precision.
class Softmax {
 public:
  explicit Softmax(std::span<const double> row);

  /// The logarithm of the probability of the class with this logit; NaN if the largest logit is infinite.
  double log_of(double logit) const { return (logit - largest_) - log_sum_; }
  /// The probability of the class with the largest logit.
  double largest_probability() const { return 1 / (1 + rest_); }

 private:
  double largest_;
  double rest_ = 0;  // sum of the other probabilities / largest probability
  double log_sum_ = 0;
};

// Metrics as scikit-learn 1.6 defines them. `confusion` is [label, prediction], as in MetricSums. Without samples the
// result is NaN.

/// Mean recall over the classes that have rows.
double balanced_accuracy(std::span<const std::int64_t> confusion, std::int64_t classes);
/// Mean F1 over the classes that occur as label or prediction.
double f1_macro(std::span<const std::int64_t> confusion, std::int64_t classes);
/// F1 of class 1 of two; 0 if it occurs neither as label nor as prediction.
double f1(std::span<const std::int64_t> confusion, std::int64_t classes);
/// Matthews correlation coefficient; 0 if labels or predictions are all of one class.
double matthews(std::span<const std::int64_t> confusion, std::int64_t classes);

/// Expected calibration error (Guo et al. 2017, eq. 3): the distance of probability and accuracy of a bin, mean by
/// rows.
double calibration_error(std::span<const CalibrationBin> bins);

/// Root mean squared error, mean over the columns.
double rmse(std::span<const ErrorColumn> columns, std::int64_t samples);
/// Coefficient of determination, mean over the columns: 1 - squared errors / squares. If all targets are equal, it is 1
/// for exact predictions and else 0. NaN for one sample.
double r2(std::span<const ErrorColumn> columns, std::int64_t samples);

// Metrics of logits [n, classes] and labels [n]. With two classes the score is logit 1 - logit 0. Otherwise each class
// is rated by its probability against the rest, and the mean over classes is returned. NaN if a score is NaN. O(n log
// n) a class.

/// Area under the ROC curve; NaN if a class has no rows, or all of them.
double roc_auc(std::span<const double> logits, std::span<const std::int32_t> labels, std::int64_t classes);
/// Average precision; a class without rows counts as 0.
double average_precision(std::span<const double> logits, std::span<const std::int32_t> labels, std::int64_t classes);

/// Binary cross-entropy of one label: minus the logarithm of the probability that sigmoid(logit) gives `truth`.
double label_loss(double logit, bool truth);

// Metrics of labels, each rated by itself, then the mean over labels (scikit-learn's macro average). `counts` are
// [labels, truth, prediction]; logits and targets (0 or 1) are [n, labels].

/// F1; a label that occurs neither as truth nor as prediction counts as 0.
double f1_of_labels(std::span<const std::int64_t> counts, std::int64_t labels);
/// Area under the ROC curve; NaN if a label is in no row or in all rows.
double roc_auc_of_labels(std::span<const double> logits, std::span<const float> targets, std::int64_t labels);
/// Average precision; a label without rows counts as 0.
double average_precision_of_labels(std::span<const double> logits, std::span<const float> targets, std::int64_t labels);

}  // namespace lanista::nn
