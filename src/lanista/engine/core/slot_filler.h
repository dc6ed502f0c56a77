#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lanista/engine/core/active_trials.h"
#include "lanista/engine/core/study_context.h"
#include "lanista/engine/core/study_search.h"
#include "lanista/engine/core/trial_ender.h"
#include "lanista/engine/core/trial_starter.h"

namespace lanista::engine {

/// Fills the logical slots of a study: first with waiting members of recorded trial groups, then with answers of the
/// strategy, as far as the budget allows. Not thread-safe.
class SlotFiller {
 public:
  /// Uses the other parts of the engine, which outlive this; arguments are those of TrialStarter.
  SlotFiller(StudyContext& study, StudySearch& search, ActiveTrials& active, JobLauncher& launcher, KeptStates& kept,
             ZooStarts& zoo, TrialEnder& ender)
      : study_(study),
        search_(search),
        active_(active),
        ender_(ender),
        starter_(study, search, active, launcher, kept, zoo, ender) {}

  /// Fills all free slots, unless the study is ending. A second call without an event in between adds nothing. Errors:
  /// kInvalidArgument (the strategy resumes or stops a trial that it may not), those of Strategy::suggest, of
  /// TrialStarter and of the log.
  Result<void> fill_slots();
  /// Calls fill_slots() if the strategy's last answer was to wait for an event; else it has no effect.
  Result<void> fill_after_wait();
  /// Why a study without running trials ends, as text for the log: the strategy's reason to propose nothing, or
  /// "budget".
  std::string end_reason() const { return exhausted_reason_.empty() ? "budget" : exhausted_reason_; }

 private:
  /// Fills one slot. Returns whether another slot may be filled.
  Result<bool> fill_next_slot();
  /// Asks the strategy for one slot. Returns as fill_next_slot().
  Result<bool> ask_strategy();
  /// Carries out or records the group that the strategy suggests. Returns as fill_next_slot().
  Result<bool> begin_group(search::TrialGroup group);
  /// Whether a slot is free.
  bool has_free_slot() const { return active_.size() < study_.state.view.config.strategy.slots; }
  /// Whether slots and the trial budget allow a member now.
  bool can_carry_out(const search::Member& member) const;
  /// Whether a group with a barrier keeps later trials from starting.
  bool is_barrier_active() const;
  /// Whether a trial fits the step budget with its epochs `done` + 1 to `budget`.
  bool fits_budget(const study::Proposal& proposal, std::int64_t done, std::int64_t budget) const;
  /// Whether the step budget still allows a trial to train to the end of its schedule after these epochs. True if it
  /// does not allow that now, and if a trial has done so (LastRung).
  bool keeps_last_rung(const study::Proposal& proposal, std::int64_t done, std::int64_t budget) const;
  /// Whether the first member of a group is a new trial that the budget does not allow, or should not (see above).
  bool is_beyond_budget(const search::Suggestion& answer) const;
  /// Number of steps of finished epochs, and of the whole budgets of running trials.
  std::int64_t reserved_steps() const;
  /// Resumes the best paused trial to the end, if no trial has trained to the end and nothing else can start. Returns
  /// whether there was one.
  Result<bool> finish_best_trial();
  /// Carries out a member. `waiting_index` is the index of a new trial among those that wait. Returns false if the step
  /// budget does not allow it. Errors: kInvalidArgument (the strategy names a trial in another state).
  Result<bool> carry_out_member(search::Member member, std::size_t waiting_index = 0);
  /// Resumes or prunes a paused trial, as carry_out_member().
  Result<bool> carry_out_resumption(const search::ResumeTrial& member);

  StudyContext& study_;
  StudySearch& search_;
  const ActiveTrials& active_;
  TrialEnder& ender_;
  TrialStarter starter_;
  bool strategy_waits_ = false;   ///< The strategy returned wait; until the next event.
  std::string exhausted_reason_;  ///< Why the strategy proposes nothing, or empty.
};

}  // namespace lanista::engine
