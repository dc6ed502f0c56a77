#include "lanista/exec/train/branch_point.h"

#include <utility>

namespace lanista::train {

Result<void> BranchPoint::check_state() const {
  if (run_.state_.is_admitted()) return {};
  return Error{Code::kFailedPrecondition,
               "trial " + std::to_string(run_.input().trial.value) + " cannot branch: there is no state in memory", ""};
}

Result<TrialRun> BranchPoint::fork(const space::Sample& setting, std::optional<std::uint64_t> data_seed) const {
  LANISTA_TRY(check_state());
  LANISTA_ASSIGN(TrialRun out, run_.copy_with_state(data_seed.value_or(run_.rows_.seed())));
  LANISTA_TRY(out.settings_.add(out.progress_.step_count(), setting));
  return out;
}

Result<TrialRun> BranchPoint::start_candidate(std::int64_t number) const {
  if (!run_.state_.is_admitted()) {
    return Error{Code::kFailedPrecondition,
                 "trial " + std::to_string(run_.input().trial.value) + " cannot race: there is no state in memory", ""};
  }
  if (number == 0) return run_.copy_with_state(run_.rows_.seed());
  TrialRun out = run_.copy_without_state(run_.rows_.seed());
  const AlternativeStartWeights& alternative = run_.start_.alternative(number);
  out.start_ = run_.start_.with_weights(alternative.weights);
  out.settings_.set_ease(alternative.ease);
  return out;
}

Result<TrialRun> BranchPoint::select_branch(bool selects) const {
  LANISTA_TRY(check_state());
  LANISTA_ASSIGN(TrialRun out, run_.copy_with_state(run_.rows_.seed()));
  out.rows_.selection().set_selecting(out.progress_.step_count(), selects);
  return out;
}

void BranchPoint::record_search(std::vector<study::Branch> branches, TrialRun* winner) {
  run_.records_.search = std::move(branches);
  if (winner == nullptr) return;
  run_.settings_.continue_from(winner->settings_);
  continue_from(*winner);
}

void BranchPoint::record_start_race(std::vector<study::StartCandidate> race, TrialRun* winner) {
  if (const auto ease = run_.start_.apply_winner(race)) run_.settings_.set_ease(*ease);
  run_.records_.start_race = std::move(race);
  if (winner != nullptr) continue_from(*winner);
}

void BranchPoint::record_select_check(std::vector<study::SelectBranch> branches, TrialRun* winner) {
  run_.records_.select_check = std::move(branches);
  if (winner == nullptr) return;
  run_.rows_.selection() = std::move(winner->rows_.selection());
  continue_from(*winner);
}

void BranchPoint::continue_from(TrialRun& winner) {
  run_.state_.continue_from(winner.state_);
  run_.progress_.continue_from(winner.progress_);
  run_.start_.drop_weights();
}

}  // namespace lanista::train
