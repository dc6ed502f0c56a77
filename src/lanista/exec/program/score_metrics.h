#pragma once

#include <cstdint>
#include <span>

#include "lanista/exec/program/metrics.h"

namespace lanista::nn {

/// Probabilities of a row of logits without NaN, by logarithms: neither those near 0 nor those near 1 are rounded away.
class Softmax {
 public:
  explicit Softmax(std::span<const double> row);

  /// The logarithm of the probability of the class that has this logit; NaN where the largest is infinite.
  double log_of(double logit) const { return (logit - largest_) - log_sum_; }
  double largest_probability() const { return 1 / (1 + rest_); }

 private:
  double largest_;
  double rest_ = 0;  // of the others, by the probability of the largest
  double log_sum_ = 0;
};

// Metrics as scikit-learn (1.6) defines them. Counts are [label, prediction], as in MetricSums. Of no sample: NaN.

/// Mean recall of the classes that have rows.
double balanced_accuracy(std::span<const std::int64_t> confusion, std::int64_t classes);
/// Mean of f1 over the classes that are a label or a prediction.
double f1_macro(std::span<const std::int64_t> confusion, std::int64_t classes);
/// Of class 1 of two; 0 where it is neither label nor prediction.
double f1(std::span<const std::int64_t> confusion, std::int64_t classes);
/// 0 where labels or predictions are all of one class.
double matthews(std::span<const std::int64_t> confusion, std::int64_t classes);

/// Guo et al. 2017, eq. 3: the mean distance of probability and accuracy in a bin, by its rows.
double calibration_error(std::span<const CalibrationBin> bins);

/// Mean over the columns of the root of their mean squared error.
double rmse(std::span<const ErrorColumn> columns, std::int64_t samples);
/// Mean over the columns of 1 - squared errors / squares. Of equal targets: 1 if all predictions are right, else 0. NaN
/// of one sample.
double r2(std::span<const ErrorColumn> columns, std::int64_t samples);

// Of logits [n, classes] and labels [n]. Of two classes they go by how far the logit of class 1 is above the other,
// else by each class's probability against the rest, and the mean of classes is taken. NaN if a score is. O(n log n) a
// class.

/// NaN if a class has no rows, or all of them.
double roc_auc(std::span<const double> logits, std::span<const std::int32_t> labels, std::int64_t classes);
/// 0 of a class that has no rows.
double average_precision(std::span<const double> logits, std::span<const std::int32_t> labels, std::int64_t classes);

/// Minus the logarithm of what the sigmoid of a logit gives the truth.
double label_loss(double logit, bool truth);

// Of labels, each for itself; counts are [labels, truth, prediction], logits and targets (0 or 1) [n, labels]. The mean
// of all labels, as scikit-learn's macro average of indicators.

/// 0 of a label that no row has and none is predicted to have.
double f1_of_labels(std::span<const std::int64_t> counts, std::int64_t labels);
/// NaN if a label is in no row or in all.
double roc_auc_of_labels(std::span<const double> logits, std::span<const float> targets, std::int64_t labels);
/// 0 of a label that no row has.
double average_precision_of_labels(std::span<const double> logits, std::span<const float> targets,
                                   std::int64_t labels);

}  // namespace lanista::nn
