#pragma once

#include <cstdint>
#include <span>

#include "lanista/exec/program/metrics.h"

namespace lanista::program {

/// The softmax probabilities of a row of logits without NaN, computed by logarithms. So probabilities near 0 and near 1
/// keep their precision.
class Softmax {
 public:
  explicit Softmax(std::span<const double> row);

  /// The logarithm of the probability of the class with this logit of the row; NaN if the largest logit is infinite.
  double log_of(double logit) const { return (logit - largest_) - log_sum_; }
  /// The probability of the class with the largest logit; NaN if that logit is infinite.
  double largest_probability() const { return 1 / (1 + rest_); }

 private:
  double largest_;
  double rest_ = 0;  // sum of the other probabilities / largest probability
  double log_sum_ = 0;
};

// Metrics as scikit-learn 1.6 defines them, from 0 to 1 unless stated. `confusion` holds counts [label, prediction], as
// in MetricSums. Without samples the result is NaN.

/// Mean over the classes that have rows of (right predictions of the class) / (rows of the class), from 0 to 1.
/// `confusion` holds counts [label, prediction]. NaN without samples.
double balanced_accuracy(std::span<const std::int64_t> confusion, std::int64_t classes);
/// Mean F1 over the classes that occur as label or as prediction, from 0 to 1. `confusion` holds counts [label,
/// prediction]. NaN without samples.
double f1_macro(std::span<const std::int64_t> confusion, std::int64_t classes);
/// F1 of class 1, for two classes; 0 if class 1 occurs neither as label nor as prediction. `confusion` holds counts
/// [label, prediction]. NaN without samples.
double f1(std::span<const std::int64_t> confusion, std::int64_t classes);
/// Matthews correlation coefficient, from -1 to 1; 0 if labels or predictions are all of one class. `confusion` holds
/// counts [label, prediction]. NaN without samples.
double matthews(std::span<const std::int64_t> confusion, std::int64_t classes);

/// Expected calibration error (Guo et al. 2017, eq. 3): the mean over bins, weighted by their rows, of |mean largest
/// probability - share of right predictions|. NaN without rows.
double calibration_error(std::span<const CalibrationBin> bins);

/// Root mean squared error of each column in the unit of the targets, then the mean over the columns. NaN without
/// samples.
double rmse(std::span<const ErrorColumn> columns, std::int64_t samples);
/// Coefficient of determination of each column, 1 - squared_errors / target_squares, then the mean over the columns. A
/// column with equal targets counts 1 for exact predictions and else 0. NaN for less than two samples.
double r2(std::span<const ErrorColumn> columns, std::int64_t samples);

// Metrics of logits [n, classes] and labels [n], from 0 to 1. With two classes, class 1 is rated by the score logit 1 -
// logit 0. Otherwise each class is rated by its probability against the rest, and the mean over classes is returned.
// NaN without samples or if a score is NaN. O(n log n) a class.

/// Area under the ROC curve; equal scores count half. With two classes, class 1 is ranked by logit 1 - logit 0; with
/// more, it is the mean over the classes, each ranked by its probability against the rest. NaN if a class has no rows,
/// or all of them, or if a score is NaN.
double roc_auc(std::span<const double> logits, std::span<const std::int32_t> labels, std::int64_t classes);
/// Average precision (mean over the rows of a class of the precision at their score), of class 1 for two classes, else
/// the mean over the classes. A class without rows counts as 0. NaN without samples or if a score is NaN.
double average_precision(std::span<const double> logits, std::span<const std::int32_t> labels, std::int64_t classes);

/// Binary cross-entropy of one label: -log(sigmoid(logit)) if `truth`, else -log(1 - sigmoid(logit)).
double label_loss(double logit, bool truth);

// Metrics of labels, each rated by itself, then the mean over labels (scikit-learn's macro average), from 0 to 1.
// `counts` are [labels, truth, prediction]; logits and targets (0 or 1) are [n, labels].

/// Mean over the labels of F1. A label that occurs neither as truth nor as prediction counts as 0, so without samples
/// the result is 0.
double f1_of_labels(std::span<const std::int64_t> counts, std::int64_t labels);
/// Mean over the labels of the area under the ROC curve, where each label alone ranks the rows by its logit. NaN if any
/// label is in no row or in all rows, or if a logit is NaN.
double roc_auc_of_labels(std::span<const double> logits, std::span<const float> targets, std::int64_t labels);
/// Mean over the labels of average precision. A label without rows counts as 0. NaN without samples or if a logit is
/// NaN.
double average_precision_of_labels(std::span<const double> logits, std::span<const float> targets, std::int64_t labels);

}  // namespace lanista::program
