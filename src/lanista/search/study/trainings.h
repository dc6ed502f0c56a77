#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanista/search/study/config.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

/// Returns the number of trainings of a proposal if none fails: strategy.repeat times the number of folds.
std::int64_t trainings_per_proposal(const StudyConfig& config);

/// Number of trainings of one proposal: all that were proposed, and those that ended by outcome. `implied` counts
/// kPrunedByRule. strategy.repeat, data.folds and strategy.retry give a proposal several trainings.
struct TrainingCounts {
  std::int64_t proposed = 0, succeeded = 0, stopped = 0, failed = 0, cancelled = 0, duplicate = 0, implied = 0;

  /// Counts one training that ended with this outcome. It does not change `proposed`.
  void count(OutcomeKind kind);
  /// Returns the number of trainings that have ended.
  std::int64_t ended() const { return succeeded + stopped + failed + cancelled + duplicate + implied; }
};

/// Returns the number of trainings that are still to be proposed. There are trainings_per_proposal() in all, and one
/// more for each failure up to strategy.retry.
///
/// It is 0 after a training was stopped early (without folds), cancelled, pruned or found to be a duplicate, and after
/// more failures than strategy.retry.
std::int64_t trainings_missing(const StudyConfig& config, const TrainingCounts& tally);

/// True if all trainings of the proposal have ended and none is still to be proposed.
inline bool trainings_done(const StudyConfig& config, const TrainingCounts& tally) {
  return tally.proposed == tally.ended() && trainings_missing(config, tally) == 0;
}

/// Returns the outcome of a proposal after trainings_done: kDuplicate, kFailed (more failures than strategy.retry),
/// kPrunedByRule, kStopped or kCancelled. The first of these that a training has counts, else kSucceeded.
OutcomeKind joint_outcome(const StudyConfig& config, const TrainingCounts& tally);

/// Returns the measurements of each epoch that all trainings have measured, by rising epoch. Those of one epoch are in
/// the order of `trainings`. Only these are averaged. An early stop is not comparable with the end of another training.
std::vector<std::vector<const Measurement*>> common_measurements(
    const std::vector<std::span<const Measurement>>& trainings);

/// Returns the average (strategy.average) of every metric that all measurements have, with the smallest epoch, step and
/// trial number. There must be at least one measurement.
Measurement average(const StudyConfig& config, const std::vector<const Measurement*>& measurements);

/// Spread of several trainings in one metric.
struct Spread {
  double mean = 0;            ///< Mean over the trainings.
  double deviation = 0;       ///< Standard deviation, with division by n - 1.
  double standard_error = 0;  ///< Standard error of the mean: deviation / sqrt(n).
};
/// Returns the spread of the metric with this name. nullopt: fewer than two measurements, or one lacks the metric.
std::optional<Spread> spread_of(const std::vector<const Measurement*>& measurements, const std::string& metric);

}  // namespace lanista::study
