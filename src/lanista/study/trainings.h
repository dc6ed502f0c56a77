#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/study/config.h"
#include "lanista/study/trial.h"

namespace lanista::study {

/// What has become of the trainings of one proposal, which strategy.repeat and strategy.retry may ask several of.
struct Tally {
  std::int64_t proposed = 0, succeeded = 0, stopped = 0, failed = 0, cancelled = 0, duplicate = 0;

  void count(OutcomeKind kind);
  std::int64_t ended() const { return succeeded + stopped + failed + cancelled + duplicate; }
};

/// Trainings that are still to be proposed: `repeat` of them, and another for each that failed, up to `retry`. None
/// when one was stopped early, cancelled or found to be a duplicate, or when more have failed than may: the proposal
/// has had its chance.
std::int64_t trainings_wanted(const StrategyConfig& config, const Tally& tally);

/// Whether the proposal is judged, and by what: nothing is running and nothing is to come.
inline bool trainings_done(const StrategyConfig& config, const Tally& tally) {
  return tally.proposed == tally.ended() && trainings_wanted(config, tally) == 0;
}

/// How a proposal ended whose trainings are done.
OutcomeKind joint_outcome(const StrategyConfig& config, const Tally& tally);

/// Of every epoch that all trainings have measured, ascending, the measurement of each. What is averaged: a training
/// that was stopped early is not comparable with the end of another.
std::vector<std::vector<const Measurement*>> common_measurements(
    const std::vector<std::span<const Measurement>>& trainings);

/// Every metric that all measurements have, averaged as strategy.average says; the smallest epoch and step, the first
/// trial. Does not depend on their order. Needs one.
Measurement average(const StrategyConfig& config, const std::vector<const Measurement*>& measurements);

}  // namespace lanista::study
