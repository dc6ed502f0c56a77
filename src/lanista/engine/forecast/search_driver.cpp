#include "lanista/engine/forecast/search_driver.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "lanista/engine/core/study_setup.h"

namespace lanista::engine {

Result<void> SearchDriver::run_until(std::int64_t epochs) {
  while (spent_epochs_ < epochs) {
    LANISTA_TRY(fill());
    if (running_.empty()) return {};
    const TrialId id = running_.front();
    running_.pop_front();
    running_.push_back(id);
    ++spent_epochs_;
    advance(id);
  }
  return {};
}

void SearchDriver::observe(const study::Event& event) {
  strategy_.observe(event);
  if (limits_.last_rung) limits_.last_rung->observe(event);
}

// The rules of SlotFiller.
bool SearchDriver::fits_budget(const search::Member& member) const {
  if (!limits_.steps || std::holds_alternative<search::StopTrial>(member)) return true;
  const auto* fresh = std::get_if<search::NewTrial>(&member);
  const Trial* trial = fresh != nullptr ? nullptr : &trials_.at(std::get<search::ResumeTrial>(member).trial);
  const study::Proposal& proposal = fresh != nullptr ? fresh->proposal : trial->proposal;
  const std::int64_t done = trial != nullptr ? trial->epoch : 0;
  const std::int64_t budget = trial != nullptr ? std::get<search::ResumeTrial>(member).budget : proposal.budget;
  const auto to_end = [&](const study::Proposal& of, std::int64_t from) {
    return limits_.steps_between(of, from, study::full_epochs(of));
  };
  std::int64_t reserved = spent_steps_;
  std::int64_t least = to_end(proposal, done), least_after = to_end(proposal, budget);
  const auto add_open = [&](const study::Proposal& of, std::int64_t from) {
    least = std::min(least, to_end(of, from));
    least_after = std::min(least_after, to_end(of, from));
  };
  for (const TrialId id : running_) {
    const Trial& running = trials_.at(id);
    reserved += limits_.steps_between(running.proposal, running.epoch, running.budget);
    add_open(running.proposal, running.budget);
  }
  const std::int64_t wanted = reserved + limits_.steps_between(proposal, done, budget);
  if (wanted > *limits_.steps) return false;
  if (!limits_.last_rung || limits_.last_rung->is_settled()) return true;
  if (const auto best = limits_.last_rung->best_paused([](TrialId) { return true; })) {
    add_open(trials_.at(*best).proposal, trials_.at(*best).epoch);
  }
  return reserved + least > *limits_.steps || wanted + least_after <= *limits_.steps;
}

bool SearchDriver::finish_best_trial(std::vector<TrialId>& started_trials) {
  if (!limits_.last_rung || !running_.empty()) return false;
  const auto resumption = [&](TrialId id) {
    return search::Member(search::ResumeTrial{id, study::full_epochs(trials_.at(id).proposal)});
  };
  const auto best = limits_.last_rung->best_paused([&](TrialId id) { return fits_budget(resumption(id)); });
  return best && carry_out_member(resumption(*best), started_trials);
}

Result<std::vector<TrialId>> SearchDriver::fill() {
  std::vector<TrialId> started_trials;
  LANISTA_TRY(fill_slots(started_trials));
  while (running_.empty() && finish_best_trial(started_trials)) {
  }
  return started_trials;
}

Result<void> SearchDriver::fill_slots(std::vector<TrialId>& started_trials) {
  while (std::ssize(running_) < limits_.slots) {
    if (waiting_.empty()) {
      if (is_barrier_active_ && !running_.empty()) break;
      const bool exhausted = consecutive_duplicates_ >= kMaxDuplicatesInARow;
      const bool closes_rungs = limits_.last_rung && num_paused_ > 0;
      if ((exhausted && !closes_rungs) || (is_trial_budget_spent() && num_paused_ == 0)) break;
      search::Capacity capacity;
      capacity.free_slots = limits_.slots - std::ssize(running_);
      if (limits_.trials) capacity.new_trials = std::max<std::int64_t>(0, *limits_.trials - num_proposed_);
      if (exhausted) capacity.new_trials = 0;
      capacity.running = std::ssize(running_);
      capacity.paused = num_paused_;
      auto answer = strategy_.suggest(capacity);
      if (closes_rungs && answer && !answer->group.members.empty() && !fits_budget(answer->group.members.front()) &&
          std::holds_alternative<search::NewTrial>(answer->group.members.front())) {
        capacity.new_trials = 0;
        answer = strategy_.suggest(capacity);
      }
      if (!answer && answer.error().code != Code::kResourceExhausted) return answer.error();
      if (!answer || answer->kind != search::Suggestion::Kind::kGroup) break;
      is_barrier_active_ = answer->group.barrier;
      for (search::Member& member : answer->group.members) waiting_.push_back(std::move(member));
      if (waiting_.empty()) break;
    }
    const bool taken = carry_out_member(waiting_.front(), started_trials);
    waiting_.pop_front();
    if (!taken && waiting_.empty()) break;
  }
  return {};
}

/// Starts, resumes or ends a trial. Returns false if the limits do not allow it.
bool SearchDriver::carry_out_member(const search::Member& member, std::vector<TrialId>& started_trials) {
  if (!fits_budget(member)) return false;
  if (const auto* fresh = std::get_if<search::NewTrial>(&member)) {
    if (is_trial_budget_spent()) return false;
    if (begin(fresh->proposal)) started_trials.push_back(running_.back());
  } else if (const auto* resume = std::get_if<search::ResumeTrial>(&member)) {
    Trial& trial = trials_.at(resume->trial);
    trial.budget = resume->budget;
    --num_paused_;
    running_.push_back(resume->trial);
    started_trials.push_back(resume->trial);
    trial.fork = resume->fork;
    if (trial.fork) trial.proposal.sample = trial.fork->sample;
    observe(study::Resumed{resume->trial, trial.epoch, resume->budget, resume->fork});
  } else {
    const TrialId id = std::get<search::StopTrial>(member).trial;
    if (std::erase(running_, id) == 0) --num_paused_;
    end(id, study::OutcomeKind::kStopped);
  }
  return true;
}

/// Starts a new trial. Returns false if it is a duplicate.
bool SearchDriver::begin(const study::Proposal& proposal) {
  const TrialId id{static_cast<std::uint32_t>(++num_proposed_)};
  const study::Proposed event{id, proposal};
  observe(event);
  if (limits_.skips_duplicates) {
    duplicates_.observe(event);
    const TrialId first = duplicates_.first_like(id);
    consecutive_duplicates_ = first == id ? 0 : consecutive_duplicates_ + 1;
    if (first != id) {
      observe(study::Ended{id, {study::OutcomeKind::kDuplicate, "", first, "", {}}});
      return false;
    }
  }
  trials_[id] = {id, proposal, 0, proposal.budget};
  running_.push_back(id);
  return true;
}

const SearchDriver::Trial* SearchDriver::find_running(TrialId id) const {
  const auto at = trials_.find(id);
  return at != trials_.end() && std::ranges::find(running_, id) != running_.end() ? &at->second : nullptr;
}

bool SearchDriver::advance(TrialId id) {
  Trial& trial = trials_.at(id);
  if (limits_.steps) spent_steps_ += limits_.steps_between(trial.proposal, trial.epoch, trial.epoch + 1);
  ++trial.epoch;
  auto metrics = measure_(trial);
  trial.fork.reset();
  if (!metrics) return end(id, study::OutcomeKind::kFailed);
  observe(study::Measured{{id, trial.epoch, trial.epoch, *std::move(metrics)}});
  if (trial.epoch == study::full_epochs(trial.proposal)) return end(id, study::OutcomeKind::kSucceeded);
  if (strategy_.verdict(id).verdict == study::Verdict::kStop) return end(id, study::OutcomeKind::kStopped);
  if (trial.epoch < trial.budget) return true;
  ++num_paused_;
  std::erase(running_, id);
  observe(study::Paused{id, trial.epoch});
  return false;
}

/// Ends a trial. Always returns false.
bool SearchDriver::end(TrialId id, study::OutcomeKind kind) {
  std::erase(running_, id);
  const auto trial = trials_.extract(id);
  study::Outcome outcome;
  outcome.kind = kind;
  observe(study::Ended{id, outcome});
  if (ended_) ended_(trial.mapped(), kind);
  return false;
}

}  // namespace lanista::engine
