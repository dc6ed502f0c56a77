#pragma once

#include <cstdint>
#include <vector>

#include "lanista/search/study/config.h"
#include "lanista/search/study/epoch_schedule.h"
#include "lanista/search/study/trial.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::study {

/// Training steps in addition to those of a trial: of discarded branches of its tune searches (train.tune). Forecasts
/// add them to the steps of the trial.
struct ExtraSteps {
  /// Expected extra steps before one epoch.
  struct EpochSteps {
    std::int64_t epoch = 0;  ///< Epoch before which the steps are trained.
    std::int64_t steps = 0;  ///< Number of extra steps.
  };
  std::vector<EpochSteps> expected;  ///< Expected extra steps, by rising epoch.
  std::int64_t searches = 0;         ///< Expected number of tune searches.
  std::int64_t most = 0;             ///< Largest number of extra steps that the rules allow.

  /// Returns the expected number of extra steps of the whole trial.
  std::int64_t expected_steps() const { return steps_through(0, INT64_MAX); }
  /// Returns the expected number of extra steps before the epochs from + 1 to `to`.
  std::int64_t steps_through(std::int64_t from, std::int64_t to) const;
};

/// Returns the extra steps of the tune searches of a trial with `count` epochs.
///
/// The expectation assumes that the trial improves during the first third of its epochs and not after it. No branch
/// diverges, losses fall evenly at different rates, and each search finds a setting. The upper bound assumes that no
/// epoch improves. Each search finds a setting or none, whichever gives more steps, and branches diverge as late as
/// possible, if at all. O(epochs log epochs).
ExtraSteps search_steps(const TuneRules& rules, const EpochSchedule& epochs, std::int64_t count);

/// Returns the extra steps of the tune searches of a trial with this recipe: the expected ones by epoch, and the most
/// that the rules allow. Errors: those of tune_rules (kInvalidArgument).
Result<ExtraSteps> extra_steps(const Recipe& recipe, const EpochSchedule& epochs);

}  // namespace lanista::study
