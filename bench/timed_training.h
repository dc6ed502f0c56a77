#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "lanista/base/result.h"
#include "lanista/exec/train/lane_group.h"

namespace lanista::bench {

/// A training of one trial with timed epochs.
///
/// Times are CPU times of the calling thread, so other work of the machine does not count. The last update of an epoch
/// also evaluates. To remove that time, the evaluation is run once more after the epoch, and its time is subtracted.
class TimedTraining {
 public:
  /// Errors: those of train::LaneGroup and train::TrialRun.
  static Result<std::unique_ptr<TimedTraining>> make(const train::TrainerInput& input);

  /// Trains the next epoch, with up to `most` updates in one call.
  ///
  /// Errors: kInternal if the trial fails.
  Result<void> epoch(std::int64_t most);

  const train::TrialRun& run() const { return run_; }
  double seconds() const { return seconds_; }  ///< CPU seconds of all epochs so far, without evaluations.
  double updates() const { return updates_; }  ///< Number of updates so far.

 private:
  TimedTraining(train::LaneGroup group, train::TrialRun run) : group_(std::move(group)), run_(std::move(run)) {}

  train::LaneGroup group_;
  train::TrialRun run_;
  double seconds_ = 0, updates_ = 0;
};

}  // namespace lanista::bench
