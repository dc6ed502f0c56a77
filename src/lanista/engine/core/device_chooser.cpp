#include "lanista/engine/core/device_chooser.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace lanista::engine {
namespace {

std::int64_t epochs_left(const TrialView& trial) {
  return std::max<std::int64_t>(0, trial.budget - std::ssize(trial.measurements));
}

}  // namespace

DeviceTable current_devices(const nlohmann::json& numerics, const Services& services) {
  auto table = decode_device_table(numerics);
  if (!table || table->rows.size() != services.devices.size()) return {};
  return *std::move(table);
}

DeviceChooser::DeviceChooser(const StudyContext& study, const ActiveTrials& active)
    : study_(study), active_(active), devices_(current_devices(study.state.view.numerics, study.services)) {}

// Only the work of open trials counts. Trials end in logical order, so a slow device with more than its share of them
// delays all others.
std::size_t DeviceChooser::least_loaded_device(const Job& job, double work) const {
  std::vector<plan::DeviceLoad> loads;
  for (const DeviceTable::Row& row : devices_.rows) loads.push_back({row.speed, 0});
  for (const auto& [id, open] : study_.state.open) {
    const TrialView& trial = study_.state.trial(id);
    const auto device = trial.paused ? std::nullopt : assigned_device(id);
    if (device) loads[*device].work += static_cast<double>(epochs_left(trial)) * open.logical_epoch;
  }
  std::vector<std::size_t> capable;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const auto& can = study_.services.devices[i].supports;
    if (!can || can(job)) capable.push_back(i);
  }
  if (capable.empty()) return 0;  // its start() reports what it lacks
  std::vector<plan::DeviceLoad> capable_loads;
  for (const std::size_t i : capable) capable_loads.push_back(loads[i]);
  return capable[plan::choose_device(capable_loads, work)];
}

// If numbers depend on the device, the log names it. Otherwise it is the device that has the trial now.
std::optional<std::size_t> DeviceChooser::assigned_device(TrialId id) const {
  if (devices_.has_several_classes()) {
    const DeviceTable::Row* row = devices_.find(study_.state.trial(id).device);
    return row == nullptr ? std::nullopt : std::optional(static_cast<std::size_t>(row - devices_.rows.data()));
  }
  const ActiveTrial* active = active_.find(id);
  return active == nullptr || !active->started ? std::nullopt : std::optional(active->device);
}

Result<std::string> DeviceChooser::device_to_record(const TrialView& trial, double logical_epoch,
                                                    const graph::Graph& model) const {
  if (!devices_.has_several_classes()) return std::string();
  auto job = make_job(study_.state.view.config, *study_.services.data, trial, model);
  // A job that cannot be made fails on every device.
  const double work = static_cast<double>(trial.proposal.budget) * logical_epoch;
  return devices_.rows[job ? least_loaded_device(*job, work) : 0].name;
}

std::size_t DeviceChooser::device_for(const Job& job) const {
  if (devices_.rows.size() < 2) return 0;
  // A trial without a logged device, or with one that is gone, goes to the first device, independent of load.
  if (devices_.has_several_classes()) return assigned_device(job.trial).value_or(0);
  const TrialView& trial = study_.state.trial(job.trial);
  return least_loaded_device(job,
                             static_cast<double>(epochs_left(trial)) * study_.state.open.at(job.trial).logical_epoch);
}

}  // namespace lanista::engine
