#pragma once

#include <cstdint>

#include "lanista/search/study/study_view.h"

namespace lanista::report {

/// Costs that a study avoided, compared with an alternative that each use states.
struct Saving {
  std::int64_t trials = 0;  ///< Number of trials with the saving.
  std::int64_t epochs = 0;  ///< Number of epochs.
  std::int64_t steps = 0;   ///< Number of training steps.
  double seconds = 0;       ///< Worker seconds at the measured pace of the same trials; 0 without spans.
};

/// The costs and the savings of a study. Seconds are worker seconds: two workers that are busy for a second count two.
struct CostSummary {
  std::int64_t steps = 0;     ///< Training steps of all trials.
  double seconds = 0;         ///< Worker seconds of all trials.
  Saving failed_trials_cost;  ///< Costs of trials that failed.
  Saving early_stop;          ///< Compared with a training of each stopped trial to its budget, at its own pace.
  std::int64_t trials_sharing_steps = 0;  ///< Number of trials that were lanes of a program with other trials.
  std::int64_t max_lanes = 1;             ///< Most lanes of a step.
  Saving dedup;                           ///< Compared with a training of each duplicate.
};
/// The costs and savings of a study up to now. O(measurements + spans).
CostSummary summarize_costs(const study::StudyView& view);

}  // namespace lanista::report
