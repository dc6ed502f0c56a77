#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "lanista/base/result.h"
#include "lanista/exec/train/lane_group.h"

namespace lanista::bench {

/// A training of one trial, alone, whose epochs are timed, by the clock of its thread: what others do on the machine
/// in between is not in it. The last update of an epoch measures, too: what an evaluation takes that is done once more
/// behind it is taken off.
class TimedTraining {
 public:
  /// Errors: those of train::LaneGroup and train::TrialRun.
  static Result<std::unique_ptr<TimedTraining>> make(const train::TrainerInput& input);

  /// One more, with up to `most` updates at once. `before` comes first and counts. Errors: its own; kInternal (the
  /// trial failed).
  Result<void> epoch(std::int64_t most,
                     const std::function<Result<void>(train::LaneGroup&, train::TrialRun&)>& before = {});

  const train::TrialRun& run() const { return run_; }
  double seconds() const { return seconds_; }        ///< since the beginning
  double updates() const { return updates_; }        ///< since the beginning
  double evaluation() const { return evaluation_; }  ///< seconds, of the last epoch's

 private:
  TimedTraining(train::LaneGroup group, train::TrialRun run) : group_(std::move(group)), run_(std::move(run)) {}

  train::LaneGroup group_;
  train::TrialRun run_;
  double evaluation_ = 0, seconds_ = 0, updates_ = 0;
};

}  // namespace lanista::bench
