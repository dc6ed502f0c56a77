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
/// Copies have the run's position. They begin without measurements, start no search, and keep no weights of epochs. The
/// run stays as it is until a record_ function is called. The run must outlive the branch point.
class BranchPoint {
 public:
  /// A branch point at the current position of `run`.
  explicit BranchPoint(TrialRun& run) : run_(run) {}

  /// Returns a copy of the run that trains under `setting` from here on, with a copy of the state. With `data_seed` it
  /// reads other mini-batches. Errors: kFailedPrecondition (no group has admitted the run), kResourceExhausted,
  /// kInvalidArgument (the setting).
  Result<TrialRun> fork(const space::Sample& setting, std::optional<std::uint64_t> data_seed = {}) const;
  /// Returns a copy with start candidate `number`: 0 is the run's start, then the alternatives in order. All but 0 have
  /// no state until a group admits them. Errors: kFailedPrecondition (no group has admitted the run),
  /// kResourceExhausted.
  Result<TrialRun> start_candidate(std::int64_t number) const;
  /// Returns a copy that trains on selected examples (`selects` true) or on all, with a copy of the state. Errors:
  /// kFailedPrecondition (no group has admitted the run), kResourceExhausted.
  Result<TrialRun> select_branch(bool selects) const;

  /// Records `branches` as the tune search before this epoch. The run continues from `winner`, a fork of it, under the
  /// fork's setting, and takes its state. Null: it continues from its own state.
  void record_search(std::vector<study::Branch> branches, TrialRun* winner);
  /// Records `race` as the start race. The run continues from `winner`, a start candidate, and takes its state. Null:
  /// from its own start, before the first step.
  void record_start_race(std::vector<study::StartCandidate> race, TrialRun* winner);
  /// Records `branches` as the selection comparison. The run continues from `winner`, one of the two copies, and takes
  /// its state and its selection; null: from its own state.
  void record_select_check(std::vector<study::SelectBranch> branches, TrialRun* winner);

 private:
  Result<void> check_state() const;
  void continue_from(TrialRun& winner);  // with its state, its steps and its loss

  TrialRun& run_;
};

}  // namespace lanista::train
