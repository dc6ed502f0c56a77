#pragma once

#include <cstdint>
#include <vector>

#include "lanista/search/study/config.h"
#include "lanista/search/study/epoch_schedule.h"
#include "lanista/search/study/trial.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::study {

/// Steps that a trial will train beside its own: of branches that its searches give up (train.tune), and of whoever
/// loses the race of its start (train.start_race).
struct ExtraSteps {
  struct EpochSteps {
    std::int64_t epoch = 0;  ///< before which they are trained
    std::int64_t steps = 0;
  };
  std::vector<EpochSteps> expected;  ///< by epoch
  std::int64_t searches = 0;         ///< of these
  std::int64_t most = 0;             ///< no course that the rules allow takes more

  std::int64_t expected_steps() const { return steps_through(0, INT64_MAX); }
  /// Expected before the epochs from + 1 … to.
  std::int64_t steps_through(std::int64_t from, std::int64_t to) const;
};

/// Of a trial with these rules and so many epochs. Expected is: the trial gets better through the first third of its
/// epochs and no more from then on; no branch diverges, losses fall evenly at rates that differ, and every search finds
/// a setting to go on with. Most is: no epoch is ever better, each search finds a setting or none, whichever leads to
/// more, and branches diverge, if at all, as late as they can. O(epochs log epochs).
ExtraSteps search_steps(const TuneRules& rules, const EpochSchedule& epochs, std::int64_t count);

/// Of a trial before any result is in: what begins with a file races it against random values, what begins with other
/// trials has none to begin with yet; at most two parents race random values.
ExtraSteps race_steps(const TrainConfig& train, const Proposal& proposal, const EpochSchedule& epochs);

/// Both, of a trial with this recipe. Errors: tune_rules'.
Result<ExtraSteps> extra_steps(const TrainConfig& train, const Proposal& proposal, const Recipe& recipe,
                               const EpochSchedule& epochs);

}  // namespace lanista::study
