#include "lanista/bench/search_driver.h"

#include <utility>
#include <variant>

namespace lanista::bench {

Result<void> SearchDriver::run_to(std::int64_t epochs) {
  while (spent_ < epochs) {
    LANISTA_TRY(fill());
    if (running_.empty()) return {};
    const TrialId id = running_.front();
    running_.pop_front();
    ++spent_;
    if (advance(id)) running_.push_back(id);
  }
  return {};
}

Result<void> SearchDriver::fill() {
  while (std::ssize(running_) < slots_) {
    if (waiting_.empty()) {
      if (barrier_ && !running_.empty()) return {};
      strategy::Capacity capacity;
      capacity.free_slots = slots_ - std::ssize(running_);
      capacity.running = std::ssize(running_);
      capacity.paused = paused_;
      auto answer = strategy_.suggest(capacity);
      if (!answer && answer.error().code != Code::kResourceExhausted) return answer.error();
      if (!answer || answer->kind != strategy::Suggestion::Kind::kGroup) return {};
      barrier_ = answer->group.barrier;
      for (strategy::Member& member : answer->group.members) waiting_.push_back(std::move(member));
      if (waiting_.empty()) return {};
    }
    take_up(waiting_.front());
    waiting_.pop_front();
  }
  return {};
}

void SearchDriver::take_up(const strategy::Member& member) {
  if (const auto* fresh = std::get_if<strategy::NewTrial>(&member)) {
    const TrialId id{static_cast<std::uint32_t>(++proposed_)};
    trials_[id] = {id, fresh->proposal, 0, fresh->proposal.budget};
    running_.push_back(id);
    strategy_.observe(study::Proposed{id, fresh->proposal});
  } else if (const auto* resume = std::get_if<strategy::ResumeTrial>(&member)) {
    Trial& trial = trials_.at(resume->trial);
    trial.budget = resume->budget;
    --paused_;
    running_.push_back(resume->trial);
    strategy_.observe(study::Resumed{resume->trial, trial.epoch, resume->budget});
  } else {
    const TrialId id = std::get<strategy::StopTrial>(member).trial;
    if (std::erase(running_, id) == 0) --paused_;
    end(id, study::OutcomeKind::kStopped);
  }
}

/// Trains an epoch; whether the trial goes on.
bool SearchDriver::advance(TrialId id) {
  Trial& trial = trials_.at(id);
  ++trial.epoch;
  auto metrics = measure_(trial);
  if (!metrics) return end(id, study::OutcomeKind::kFailed);
  strategy_.observe(study::Measured{{id, trial.epoch, trial.epoch, *std::move(metrics)}});
  if (trial.epoch == study::full_epochs(trial.proposal)) return end(id, study::OutcomeKind::kSucceeded);
  if (strategy_.verdict(id).verdict == study::Verdict::kStop) return end(id, study::OutcomeKind::kStopped);
  if (trial.epoch < trial.budget) return true;
  ++paused_;
  strategy_.observe(study::Paused{id, trial.epoch});
  return false;
}

/// False: it does not go on.
bool SearchDriver::end(TrialId id, study::OutcomeKind kind) {
  const auto trial = trials_.extract(id);
  study::Outcome outcome;
  outcome.kind = kind;
  strategy_.observe(study::Ended{id, outcome});
  if (ended_) ended_(trial.mapped(), kind);
  return false;
}

Result<std::unique_ptr<strategy::Strategy>> searching(const strategy::Context& context,
                                                      const strategy::StrategyPlugin& plugin, const Options& options,
                                                      const std::string& rule, const Options& rule_options) {
  LANISTA_ASSIGN(auto sampler, plugin.make(context, options));
  auto halving = sampler->own_halving();
  const auto rules = strategy::builtin_stopping_rules();
  for (const strategy::StoppingPlugin& each : rules) {
    if (halving != nullptr || each.name != rule) continue;
    LANISTA_ASSIGN(const Options resolved, resolve_options(rule_options, each.options));
    LANISTA_ASSIGN(halving, each.make({context.goals, context.epochs}, resolved));
  }
  if (halving == nullptr) return Error{Code::kInternal, "there is no stopping rule '" + rule + "'", ""};
  return strategy::compose(std::move(sampler), std::move(halving));
}

}  // namespace lanista::bench
