#pragma once

#include <cstddef>
#include <string>
#include <vector>

// Predicts the time of a program that was never run, from the times of others: a regression of the logarithm of the
// time on logarithms of its features, corrected by the residuals of neighbours.
namespace lanista::plan {

/// One measured time, with the features that predict it. All rows of a model have the same number of features.
struct TimedRow {
  std::string what;              ///< Name of the timed thing; rows of one name are held out together.
  std::vector<double> features;  ///< Natural logarithms of the features, such as sizes and counts.
  double value = 0;              ///< Natural logarithm of the measured time over the time that a simple rule predicts.
};

/// The error of predicted times of things that were left out of the fit, in percent of the measured time.
struct TimeError {
  /// Things that were held out in turn; 0: no error is known, such as with fewer than kMinThings.
  std::size_t num_things = 0;
  double median = 0;  ///< Median over the things; the error of a thing is the median over its rows.
  double p90 = 0;     ///< 90th percentile over the things.
};

/// Predicts TimedRow::value, the logarithm of a measured time over the time of a simple rule. It is a ridge regression
/// with a correction by the residuals of the three nearest rows.
///
/// Features are standardised to mean 0 and deviation 1. Constant features are left out. The intercept is not shrunk.
/// Outside the range of a feature the regression uses the nearest end of the range. The correction is the mean of the
/// neighbours' residuals, weighted by 1 / (distance + 0.05), and of a zero with weight 2. The distance is the root mean
/// square over the features. A value: a pure function of the rows in their order.
class TimeModel {
 public:
  /// Fits with the value of kPenalties that has the least median error on held-out things.
  ///
  /// With fewer than kMinThings things it is the largest penalty. `rows` must not be empty. O(rows x features^2) for
  /// each held-out thing; at most kMaxLeftOut are held out.
  static TimeModel fit(std::vector<TimedRow> rows);
  /// Fits with this ridge penalty. `rows` must not be empty. The error stays unknown: num_things is 0.
  static TimeModel fit(std::vector<TimedRow> rows, double penalty);

  /// Returns the predicted TimedRow::value (a logarithm) of a row with these features, given in the order of the rows.
  double predict(const std::vector<double>& features) const;
  /// Returns the error on held-out things. Its num_things is 0 if the error is not known.
  const TimeError& error() const { return error_; }
  /// Returns the ridge penalty of the fit.
  double penalty() const { return penalty_; }
  /// Returns the number of rows that were fitted.
  std::size_t rows() const { return rows_.size(); }

  static constexpr double kPenalties[] = {0.1, 1, 10};  ///< The penalties that `fit` tries.
  static constexpr std::size_t kMaxLeftOut = 128;       ///< Most things that `fit` holds out.
  static constexpr std::size_t kMinThings = 4;          ///< Fewest things for an error.

 private:
  std::vector<double> standardised(const std::vector<double>& features) const;

  std::vector<TimedRow> rows_;                       // With standardised features.
  std::vector<double> min_features_, max_features_;  // Range of each standardised feature.
  std::vector<double> means_, scales_, slopes_;      // A scale of 0: the feature is left out.
  std::vector<double> residuals_;                    // Of rows_.
  double intercept_ = 0, penalty_ = 0;
  TimeError error_;
};

}  // namespace lanista::plan
