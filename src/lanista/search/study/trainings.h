#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanista/search/study/config.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

/// Trainings of a proposal that none of fails: strategy.repeat, on each of data.folds where there are folds.
std::int64_t trainings_per_proposal(const StudyConfig& config);

/// What has become of the trainings of one proposal, which strategy.repeat, data.folds and strategy.retry may ask
/// several of.
struct TrainingCounts {
  std::int64_t proposed = 0, succeeded = 0, stopped = 0, failed = 0, cancelled = 0, duplicate = 0, implied = 0;

  void count(OutcomeKind kind);
  std::int64_t ended() const { return succeeded + stopped + failed + cancelled + duplicate + implied; }
};

/// Trainings that are still to be proposed: trainings_per_proposal() of them, and another for each that failed, up to
/// `retry`. None when one was stopped early (but for folds, which only tell something together), cancelled, implied or
/// found to be a duplicate, or when more have failed than may: the proposal has had its chance.
std::int64_t trainings_missing(const StudyConfig& config, const TrainingCounts& tally);

/// Whether the proposal is judged, and by what: nothing is running and nothing is to come.
inline bool trainings_done(const StudyConfig& config, const TrainingCounts& tally) {
  return tally.proposed == tally.ended() && trainings_missing(config, tally) == 0;
}

/// How a proposal ended whose trainings are done.
OutcomeKind joint_outcome(const StudyConfig& config, const TrainingCounts& tally);

/// Of every epoch that all trainings have measured, ascending, the measurement of each. What is averaged: a training
/// that was stopped early is not comparable with the end of another.
std::vector<std::vector<const Measurement*>> common_measurements(
    const std::vector<std::span<const Measurement>>& trainings);

/// Every metric that all measurements have, averaged as strategy.average says; the smallest epoch and step, the first
/// trial. Does not depend on their order. Needs one.
Measurement average(const StudyConfig& config, const std::vector<const Measurement*>& measurements);

/// How far apart several trainings lie in a metric.
struct Spread {
  double mean = 0;
  double deviation = 0;       ///< of the trainings, with n - 1
  double standard_error = 0;  ///< of the mean: deviation / sqrt(n)
};
/// nullopt: fewer than two measurements, or one lacks the metric.
std::optional<Spread> spread_of(const std::vector<const Measurement*>& measurements, const std::string& metric);

}  // namespace lanista::study
