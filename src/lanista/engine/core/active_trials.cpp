#include "lanista/engine/core/active_trials.h"

namespace lanista::engine {

bool ActiveTrial::is_deliverable() const {
  if (waiting.failure && waiting.measurements.empty()) return true;
  if (pausing) return waiting.paused.has_value();
  return pending_outcome ? waiting.finished.has_value() : !waiting.measurements.empty();
}

ActiveTrial& ActiveTrials::enter(TrialId id, std::int64_t next) {
  ActiveTrial trial;
  trial.id = id;
  trial.budget = state_.trial(id).budget;
  trial.next = next;
  due_times_.emplace(state_.due(id, trial.next), id);
  return trials_[id] = std::move(trial);
}

void ActiveTrials::advance(ActiveTrial& trial) {
  due_times_.erase({state_.due(trial.id, trial.next), trial.id});
  ++trial.next;
  due_times_.emplace(state_.due(trial.id, trial.next), trial.id);
}

void ActiveTrials::leave(TrialId id) {
  const auto it = trials_.find(id);
  if (it == trials_.end()) return;
  due_times_.erase({state_.due(id, it->second.next), id});
  trials_.erase(it);
}

ActiveTrial* ActiveTrials::find(TrialId id) {
  const auto it = trials_.find(id);
  return it == trials_.end() ? nullptr : &it->second;
}

const ActiveTrial* ActiveTrials::find(TrialId id) const {
  const auto it = trials_.find(id);
  return it == trials_.end() ? nullptr : &it->second;
}

}  // namespace lanista::engine
