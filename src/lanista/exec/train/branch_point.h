#pragma once

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

  /// Returns a copy of the run that trains under `setting` from here on, with a copy of the state. Errors:
  /// kFailedPrecondition (no group has admitted the run), kResourceExhausted, kInvalidArgument (the setting).
  Result<TrialRun> fork(const space::Sample& setting) const;

  /// Records `branches` as the tune search before this epoch. The run continues from `winner`, a fork of it, under the
  /// fork's setting, and takes its state. Null: it continues from its own state.
  void record_search(std::vector<study::Branch> branches, TrialRun* winner);

 private:
  TrialRun& run_;
};

}  // namespace lanista::train
