// Which of several devices trains a trial.
#include "lanista/engine/study_engine.h"

namespace lanista::engine {

// Only work that is open counts: trials come to an end in logical order, so a slow device that is given more than its
// share of those under way holds up the others, whatever it was spared before.
std::size_t StudyEngine::chosen_device(double work) const {
  std::vector<schedule::DeviceLoad> loads;
  for (const DeviceTable::Row& row : devices_.rows) loads.push_back({row.speed, 0});
  for (const auto& [id, open] : state_.open) {
    const TrialView& trial = state_.trial(id);
    const auto device = trial.paused ? std::nullopt : taken_device(id);
    if (!device) continue;
    const auto left = trial.budget - static_cast<std::int64_t>(trial.measurements.size());
    if (left > 0) loads[*device].work += static_cast<double>(left) * open.logical_epoch;
  }
  return schedule::choose_device(loads, work);
}

// Where numbers depend on it the log says, so that whoever was killed chooses again as before; else whoever has it now.
std::optional<std::size_t> StudyEngine::taken_device(TrialId id) const {
  if (devices_.is_mixed()) {
    const DeviceTable::Row* row = devices_.find(state_.trial(id).device);
    return row == nullptr ? std::nullopt : std::optional(static_cast<std::size_t>(row - devices_.rows.data()));
  }
  const auto it = active_.find(id);
  return it == active_.end() || !it->second.started ? std::nullopt : std::optional(it->second.device);
}

std::size_t StudyEngine::device_for(TrialId id) const {
  if (devices_.rows.size() < 2) return 0;
  // Of a trial that the log gives no device, or one that is gone, the first: not whichever has time.
  if (devices_.is_mixed()) return taken_device(id).value_or(0);
  const TrialView& trial = state_.trial(id);
  const auto left = trial.budget - static_cast<std::int64_t>(trial.measurements.size());
  return chosen_device(static_cast<double>(std::max<std::int64_t>(left, 0)) * state_.open.at(id).logical_epoch);
}

}  // namespace lanista::engine
