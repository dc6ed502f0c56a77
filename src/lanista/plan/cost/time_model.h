#pragma once

#include <cstddef>
#include <string>
#include <vector>

// How long something takes that was never run, from what was: regression of a logarithm of time on logarithms of what
// it depends on, with the residuals of neighbours on top. Tuning reference §1.8, F3.
namespace lanista::schedule {

/// A time that is known. All of a model have as many features.
struct TimedRow {
  std::string what;              ///< rows of equal name are of the same thing: left out together
  std::vector<double> features;  ///< logarithms
  double value = 0;              ///< of a time over what a rule of thumb says: a logarithm
};

/// How far predictions of things were off that the model did not know, in percent.
struct TimeError {
  std::size_t num_things = 0;  ///< that were left out in turn; 0: too few for it
  double median = 0, p90 = 0;
};

/// Ridge regression (an intercept that is not shrunk, features to a mean of 0 and a deviation of 1, those that do not
/// vary left out), and of what it leaves the mean of the three nearest rows, weighted by 1 / (distance + 0.05), with a
/// weight of 2 on nothing at all; a distance is the root mean square over features. The line ends where the rows end:
/// outside of their range in a feature its nearest end counts. A value: a pure function of the rows in their order.
class TimeModel {
 public:
  /// With the penalty of kPenalties that predicts best what is left out; of few rows, with the largest. At least one
  /// row. O(rows * features^2), and with what is left out as often again as there are things, kMaxLeftOut at most.
  static TimeModel fit(std::vector<TimedRow> rows);
  /// With this penalty; error() is not known.
  static TimeModel fit(std::vector<TimedRow> rows, double penalty);

  double predict(const std::vector<double>& features) const;
  const TimeError& error() const { return error_; }
  double penalty() const { return penalty_; }
  std::size_t rows() const { return rows_.size(); }

  static constexpr double kPenalties[] = {0.1, 1, 10};
  static constexpr std::size_t kMaxLeftOut = 128;
  static constexpr std::size_t kMinThings = 4;  ///< for error()

 private:
  std::vector<double> standardised(const std::vector<double>& features) const;

  std::vector<TimedRow> rows_;                       // their features standardised
  std::vector<double> min_features_, max_features_;  // of each standardised feature
  std::vector<double> means_, scales_, slopes_;      // a scale of 0: left out
  std::vector<double> residuals_;                    // of rows_
  double intercept_ = 0, penalty_ = 0;
  TimeError error_;
};

}  // namespace lanista::schedule
