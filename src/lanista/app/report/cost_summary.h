#pragma once

#include <cstdint>

#include "lanista/search/study/study_view.h"

namespace lanista::report {

/// Costs that a study avoided or lost. Each field of CostSummary states what is counted.
struct Saving {
  std::int64_t trials = 0;  ///< Number of trials that are counted, also those without a measurement.
  std::int64_t epochs = 0;  ///< Number of epochs.
  std::int64_t steps = 0;   ///< Number of training steps.
  double seconds = 0;       ///< Worker seconds, measured or at the measured pace of a trial; 0 without spans.
};

/// The costs and the savings of a study. Seconds are worker seconds: two workers that are busy for a second count two.
struct CostSummary {
  std::int64_t steps = 0;     ///< Training steps of all trials.
  double seconds = 0;         ///< Worker seconds of all trials.
  Saving failed_trials_cost;  ///< Costs of trials that failed.
  Saving early_stop;          ///< Saved: what each stopped trial would have needed to its budget, at its own pace.
  std::int64_t trials_sharing_steps = 0;  ///< Number of trials that were lanes of a program with other trials.
  std::int64_t max_lanes = 1;             ///< Most lanes of a step.
  Saving dedup;                           ///< Saved: what a training of each duplicate would have needed.
};
/// Returns the costs and savings of a study up to the last record of `view`. O(measurements + spans).
CostSummary summarize_costs(const study::StudyView& view);

}  // namespace lanista::report
