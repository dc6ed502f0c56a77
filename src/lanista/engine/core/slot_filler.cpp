#include "lanista/engine/core/slot_filler.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "lanista/engine/core/study_limits.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/core/trial_cost.h"

namespace lanista::engine {
namespace {

/// Why a strategy counts as exhausted after many duplicates or pruned trials in a row; empty: it does not.
std::string exhaustion(const StudyState& state) {
  if (state.duplicates_in_a_row >= kMaxDuplicatesInARow) return "the strategy proposes only what was tried before";
  if (state.rule_pruned_in_a_row >= kMaxRulePrunedInARow) return "the strategy proposes only what is implied to fail";
  return {};
}

}  // namespace

// The whole budget of running trials is reserved, so that the limit is exact.
std::int64_t SlotFiller::reserved_steps() const {
  const StudyState& state = study_.state;
  std::int64_t steps = state.view.steps;
  for (const auto& [id, trial] : active_.trials()) {
    const TrialView& running = state.trial(id);
    steps += steps_between(state.view.config, *study_.services.data, running.proposal,
                           static_cast<std::int64_t>(running.measurements.size()), trial.budget);
  }
  return steps;
}

bool SlotFiller::fits_budget(const study::Proposal& proposal, std::int64_t done, std::int64_t budget) const {
  const StudyState& state = study_.state;
  if (!state.steps) return true;
  const std::int64_t steps = steps_between(state.view.config, *study_.services.data, proposal, done, budget);
  return reserved_steps() + steps <= *state.steps;
}

bool SlotFiller::keeps_last_rung(const study::Proposal& proposal, std::int64_t done, std::int64_t budget) const {
  const StudyState& state = study_.state;
  const LastRung& last_rung = search_.last_rung();
  if (!state.steps || last_rung.is_settled()) return true;
  const auto steps_of = [&](const study::Proposal& trial, std::int64_t from, std::int64_t to) {
    return steps_between(state.view.config, *study_.services.data, trial, from, to);
  };
  const auto to_end = [&](const study::Proposal& trial, std::int64_t from) {
    return steps_of(trial, from, study::full_epochs(trial));
  };
  // Steps from a trial's epochs, or from those that it is to train now, to the end; the least of all trials.
  std::int64_t least = to_end(proposal, done), least_after = to_end(proposal, budget);
  for (const auto& [id, trial] : active_.trials()) {
    const std::int64_t steps = to_end(state.trial(id).proposal, trial.budget);
    least = std::min(least, steps);
    least_after = std::min(least_after, steps);
  }
  if (const auto best = last_rung.best_paused([](TrialId) { return true; })) {
    const TrialView& paused = state.trial(*best);
    const std::int64_t steps = to_end(paused.proposal, static_cast<std::int64_t>(paused.measurements.size()));
    least = std::min(least, steps);
    least_after = std::min(least_after, steps);
  }
  const std::int64_t reserved = reserved_steps();
  if (reserved + least > *state.steps) return true;
  return reserved + steps_of(proposal, done, budget) + least_after <= *state.steps;
}

bool SlotFiller::is_beyond_budget(const search::Suggestion& answer) const {
  if (answer.kind != search::Suggestion::Kind::kGroup || answer.group.members.empty()) return false;
  const auto* fresh = std::get_if<search::NewTrial>(&answer.group.members.front());
  if (fresh == nullptr) return false;
  const study::Proposal& proposal = fresh->proposal;
  return !fits_budget(proposal, 0, proposal.budget) || !keeps_last_rung(proposal, 0, proposal.budget);
}

Result<bool> SlotFiller::finish_best_trial() {
  const StudyState& state = study_.state;
  if (active_.size() > 0 || !has_free_slot()) return false;
  const auto fits = [&](TrialId id) {
    if (!state.paused(id)) return false;
    const TrialView& trial = state.trial(id);
    return fits_budget(trial.proposal, static_cast<std::int64_t>(trial.measurements.size()),
                       study::full_epochs(trial.proposal));
  };
  const auto best = search_.last_rung().best_paused(fits);
  if (!best) return false;
  return carry_out_resumption({*best, study::full_epochs(state.trial(*best).proposal)});
}

bool SlotFiller::can_carry_out(const search::Member& member) const {
  if (std::holds_alternative<search::StopTrial>(member)) return true;
  if (!has_free_slot()) return false;
  return std::holds_alternative<search::ResumeTrial>(member) || !is_trial_budget_spent(study_.state);
}

bool SlotFiller::is_barrier_active() const {
  if (!study_.state.open_behind_barrier.empty()) return true;
  return std::ranges::any_of(study_.state.waiting_members,
                             [&](const StudyState::WaitingMember& w) { return w.barrier && can_carry_out(w.member); });
}

Result<void> SlotFiller::fill_slots() {
  if (!study_.state.pending_end_reason.empty()) return {};
  exhausted_reason_.clear();
  strategy_waits_ = false;
  bool more = true;
  while (more) {
    LANISTA_ASSIGN(more, fill_next_slot());
    if (!more) {
      LANISTA_ASSIGN(more, finish_best_trial());
    }
  }
  return {};
}

Result<void> SlotFiller::fill_after_wait() { return strategy_waits_ ? fill_slots() : Result<void>(); }

Result<bool> SlotFiller::fill_next_slot() {
  const std::deque<StudyState::WaitingMember>& waiting = study_.state.waiting_members;
  const auto can_start = [&](const search::Member& member) { return can_carry_out(member); };
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (!can_carry_out(waiting[i].member)) continue;
    const std::size_t next = search_.rules().next_waiting_index(i, can_start);
    const auto is_new = [](const auto& w) { return std::holds_alternative<search::NewTrial>(w.member); };
    const auto waiting_index =
        std::count_if(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(next), is_new);
    return carry_out_member(search::Member(waiting[next].member), static_cast<std::size_t>(waiting_index));
  }
  if (!has_free_slot() || is_barrier_active()) return false;
  return ask_strategy();
}

Result<bool> SlotFiller::ask_strategy() {
  const StudyState& state = study_.state;
  std::string exhausted = exhaustion(state);
  const bool closes_rungs = state.view.config.data.rules > study::kFirstRules && state.paused_trials() > 0;
  if (!exhausted.empty() && !closes_rungs) {
    exhausted_reason_ = std::move(exhausted);
    return false;
  }
  if (is_trial_budget_spent(state) && state.paused_trials() == 0) return false;
  search::Capacity capacity;  // one slot at a time, so that each answer knows the ones before
  capacity.free_slots = trials_per_request(state.view.config);
  if (state.trials) capacity.new_trials = std::max<std::int64_t>(0, *state.trials - std::ssize(state.view.trials));
  if (!exhausted.empty()) capacity.new_trials = 0;
  capacity.running = active_.size();
  capacity.paused = state.paused_trials();
  auto answer = search_.suggest(capacity);
  if (closes_rungs && answer && is_beyond_budget(*answer)) {
    capacity.new_trials = 0;  // The steps that are left are for paused trials.
    answer = search_.suggest(capacity);
  }
  if (!answer && answer.error().code != Code::kResourceExhausted) return std::move(answer).error();
  using Kind = search::Suggestion::Kind;
  if (answer && answer->kind == Kind::kGroup && !answer->group.members.empty()) {
    return begin_group(std::move(answer->group));
  }
  exhausted_reason_ = answer ? "the strategy has nothing left to propose" : answer.error().message;
  if (!exhausted.empty()) exhausted_reason_ = std::move(exhausted);
  if (is_trial_budget_spent(state)) exhausted_reason_.clear();  // the budget is the reason
  strategy_waits_ = answer && answer->kind == Kind::kWait;
  // The space may have more trials, so the user is warned and may widen it or loosen its constraints.
  if (!answer && active_.size() == 0) study_.event(Level::kWarning, "nothing_new", {{"reason", exhausted_reason_}});
  return false;
}

Result<bool> SlotFiller::begin_group(search::TrialGroup group) {
  const bool is_one = group.members.size() == 1 && !group.barrier && group.priority == 0;
  if (is_one && !can_carry_out(group.members.front())) return false;  // the strategy knew that no slot is free for it
  if (is_one) return carry_out_member(std::move(group.members.front()));
  const bool any = std::ranges::any_of(group.members, [&](const auto& member) { return can_carry_out(member); });
  if (!any) return false;
  LANISTA_TRY(search_.rules().add_group_costs(group));
  LANISTA_TRY(study_.log.append(store::RecordType::kGroup, group_body(group)));
  study_.state.begin_group(group);
  return true;
}

Result<bool> SlotFiller::carry_out_member(search::Member member, std::size_t waiting_index) {
  if (auto* fresh = std::get_if<search::NewTrial>(&member)) {
    const std::int64_t budget = fresh->proposal.budget;
    if (!fits_budget(fresh->proposal, 0, budget) || !keeps_last_rung(fresh->proposal, 0, budget)) return false;
    LANISTA_TRY(starter_.propose(std::move(fresh->proposal), waiting_index));
    return true;
  }
  if (const auto* resumed = std::get_if<search::ResumeTrial>(&member)) return carry_out_resumption(*resumed);
  const TrialId id = std::get<search::StopTrial>(member).trial;
  if (!study_.state.open.contains(id)) {
    return Error{Code::kInvalidArgument, "the strategy stops trial " + std::to_string(id.value) + ", which is not open",
                 "strategy"};
  }
  LANISTA_TRY(ender_.stop(id, "stopped by the strategy"));
  return true;
}

Result<bool> SlotFiller::carry_out_resumption(const search::ResumeTrial& member) {
  const StudyState& state = study_.state;
  const TrialId id = member.trial;
  if (id.value < 1 || id.value > state.view.trials.size() || !state.paused(id)) {
    return Error{Code::kInvalidArgument,
                 "the strategy resumes trial " + std::to_string(id.value) + ", which is not paused", "strategy"};
  }
  const TrialView& trial = state.trial(id);
  const auto done = static_cast<std::int64_t>(trial.measurements.size());
  if (member.budget <= done || member.budget > study::full_epochs(trial.proposal)) {
    return Error{Code::kInvalidArgument,
                 "the strategy resumes trial " + std::to_string(id.value) + " through epoch " +
                     std::to_string(member.budget) + "; it has trained " + std::to_string(done) + " of " +
                     std::to_string(study::full_epochs(trial.proposal)),
                 "strategy"};
  }
  if (const auto by = search_.rules().reason_to_prune(id, member.budget)) {
    LANISTA_TRY(ender_.end_pruned(id, *by));
    return true;
  }
  if (!fits_budget(trial.proposal, done, member.budget) || !keeps_last_rung(trial.proposal, done, member.budget)) {
    return false;
  }
  LANISTA_TRY(starter_.resume(member));
  return true;
}

}  // namespace lanista::engine
