#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/train/trial_run.h"
#include "lanista/model/space/domain.h"
#include "lanista/search/study/trial.h"

namespace lanista::train {

/// A run at the point where copies of it try alternatives, and where it continues from the best copy.
///
/// Copies have the run's position, and neither measure nor keep weights. The run stays where it is until a result is
/// recorded. It must outlive the branch point.
class BranchPoint {
 public:
  /// The current position of `run`.
  explicit BranchPoint(TrialRun& run) : run_(run) {}

  /// Returns a copy that tries a setting from here on, with a copy of the state. With `data_seed` it reads other
  /// mini-batches. Errors: kFailedPrecondition (no state in memory), kResourceExhausted, kInvalidArgument (the
  /// setting).
  Result<TrialRun> fork(const space::Sample& setting, std::optional<std::uint64_t> data_seed = {}) const;
  /// Returns a copy with start candidate `number`: 0 is the run's start, then the alternatives. Errors:
  /// kFailedPrecondition (no state in memory), kResourceExhausted.
  Result<TrialRun> start_candidate(std::int64_t number) const;
  /// Returns a copy that trains on selected examples or on all, with a copy of the state. Errors: kFailedPrecondition
  /// (no state in memory), kResourceExhausted.
  Result<TrialRun> select_branch(bool selects) const;

  /// Ends the tune search before this epoch. The run continues from `winner`, a fork of it, under its setting; null:
  /// from its own state.
  void record_search(std::vector<study::Branch> branches, TrialRun* winner);
  /// Ends the start race. The run continues from `winner`, a start candidate; null: from its start, at its beginning.
  void record_start_race(std::vector<study::StartCandidate> race, TrialRun* winner);
  /// Ends the selection comparison. The run continues from `winner`, one of the two copies; null: from its own state.
  void record_select_check(std::vector<study::SelectBranch> branches, TrialRun* winner);

 private:
  Result<void> check_state() const;
  void continue_from(TrialRun& winner);  // with its state, its steps and its loss

  TrialRun& run_;
};

}  // namespace lanista::train
