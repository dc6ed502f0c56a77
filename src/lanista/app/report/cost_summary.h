#pragma once

#include <cstdint>

#include "lanista/search/study/study_view.h"

namespace lanista::report {

/// What was not spent, against a stated alternative.
struct Saving {
  std::int64_t trials = 0;  ///< to which it applies
  std::int64_t epochs = 0;
  std::int64_t steps = 0;  ///< training steps
  double seconds = 0;      ///< of workers, at the pace measured in the same trials; 0 without spans
};

/// What a study cost and what it did not. Steps are training steps, seconds are seconds of workers: two workers busy
/// for a second are two.
struct CostSummary {
  std::int64_t steps = 0;
  double seconds = 0;
  Saving failed_trials_cost;              ///< spent on trials that failed
  Saving early_stop;                      ///< had every stopped trial trained to its budget, at its own pace
  std::int64_t trials_sharing_steps = 0;  ///< trials that shared steps with others, as lanes of one program
  std::int64_t max_lanes = 1;             ///< that any step had
  Saving dedup;                           ///< had every duplicate been trained like the trial whose result it took
};
CostSummary summarize_costs(const study::StudyView& view);

}  // namespace lanista::report
