#include "lanista/exec/train/branch_point.h"

#include <utility>

namespace lanista::train {

Result<TrialRun> BranchPoint::fork(const space::Sample& setting) const {
  if (!run_.state_.is_admitted()) {
    return Error{Code::kFailedPrecondition,
                 "trial " + std::to_string(run_.input().trial.value) + " cannot branch: there is no state in memory",
                 ""};
  }
  LANISTA_ASSIGN(TrialRun out, run_.copy_with_state());
  LANISTA_TRY(out.settings_.add(out.progress_.step_count(), setting));
  return out;
}

void BranchPoint::record_search(std::vector<study::Branch> branches, TrialRun* winner) {
  run_.search_ = std::move(branches);
  if (winner == nullptr) return;
  run_.settings_.continue_from(winner->settings_);
  run_.state_.continue_from(winner->state_);
  run_.progress_.continue_from(winner->progress_);
  run_.start_.reset();
}

}  // namespace lanista::train
