#include "lanista/engine/core/device_executors.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::engine {

void ReadySignal::set() {
  const std::lock_guard lock(mutex_);
  is_set_ = true;
  condition_.notify_one();
}

void ReadySignal::wait(double seconds) {
  std::unique_lock lock(mutex_);
  condition_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return is_set_; });
  is_set_ = false;
}

DeviceExecutors::DeviceExecutors(std::vector<Device> devices, std::shared_ptr<ReadySignal> ready_signal)
    : ready_signal_(std::move(ready_signal)) {
  LANISTA_CHECK(!devices.empty(), "there is a device");
  std::int64_t workers = 0;
  for (Device& device : devices) {
    devices_.push_back({std::move(device), workers});
    workers += devices_.back().device.workers;
  }
}

DeviceExecutors::DeviceState& DeviceExecutors::find_device(const std::string& device) {
  const auto it = std::ranges::find(devices_, device, [](const DeviceState& state) { return state.device.name; });
  return it == devices_.end() ? devices_.front() : *it;
}

DeviceExecutors::DeviceState* DeviceExecutors::device_of_trial(TrialId trial) {
  const auto it = trial_devices_.find(trial);
  return it == trial_devices_.end() ? nullptr : &devices_[it->second];
}

Result<void> DeviceExecutors::start(const Job& job) {
  DeviceState& state = find_device(job.device);
  DeviceState* before = device_of_trial(job.trial);
  // Reports of the other device are dropped, as with one executor.
  if (before != nullptr && before != &state) before->device.executor->command(Finish{job.trial, false, true});
  trial_devices_[job.trial] = static_cast<std::size_t>(&state - devices_.data());
  return state.device.executor->start(job);
}

void DeviceExecutors::command(const Command& command) {
  if (const auto* arranged = std::get_if<UpdateGroups>(&command)) return arrange(*arranged);
  if (std::holds_alternative<PauseAll>(command)) {
    for (DeviceState& state : devices_) state.device.executor->command(command);
    return;
  }
  const auto* help = std::get_if<HelpTrial>(&command);
  if (help != nullptr) return devices_.front().device.executor->command(command);
  DeviceState* state = nullptr;
  std::visit(
      [&](const auto& item) {
        if constexpr (requires { TrialId{item.trial}; }) state = device_of_trial(item.trial);
      },
      command);
  if (state != nullptr) state->device.executor->command(command);
}

void DeviceExecutors::arrange(const UpdateGroups& arranged) {
  for (DeviceState& state : devices_) {
    const auto is_here = [&](TrialId trial) { return device_of_trial(trial) == &state; };
    UpdateGroups own;
    for (const plan::Regrouping::Part& part : arranged.changes.parts) {
      plan::Regrouping::Part kept{part.group, {}};
      std::ranges::copy_if(part.trials, std::back_inserter(kept.trials), is_here);
      if (!kept.trials.empty()) own.changes.parts.push_back(std::move(kept));
    }
    std::ranges::copy_if(arranged.allow, std::back_inserter(own.allow), is_here, &Allow::trial);
    if (!own.changes.parts.empty() || !own.allow.empty()) state.device.executor->command(own);
  }
}

std::optional<Report> DeviceExecutors::translate_report(Report report, DeviceState& state) {
  // Reports of an earlier device are dropped, except files and spans.
  const bool is_of_start = std::holds_alternative<EpochReport>(report) ||
                           std::holds_alternative<FailureReport>(report) ||
                           std::holds_alternative<FinishedReport>(report);
  if (is_of_start && device_of_trial(*trial_of(report)) != &state) return std::nullopt;
  if (auto* span = std::get_if<SpanReport>(&report)) {
    span->worker += state.first_worker;
    span->device = state.device.name;
  } else if (auto* worker = std::get_if<WorkerReport>(&report)) {
    worker->worker += state.first_worker;
  } else if (std::holds_alternative<AllPausedReport>(report)) {
    state.paused = true;
    if (!std::ranges::all_of(devices_, &DeviceState::paused)) return std::nullopt;
  }
  return report;
}

std::optional<Report> DeviceExecutors::poll() {
  // Polls the devices in turn, so that one device cannot delay the others.
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    DeviceState& state = devices_[(next_device_ + i) % devices_.size()];
    while (auto report = state.device.executor->next(0)) {
      if (auto out = translate_report(*std::move(report), state)) {
        next_device_ = (next_device_ + i + 1) % devices_.size();
        return out;
      }
    }
  }
  return std::nullopt;
}

std::optional<Report> DeviceExecutors::next(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (true) {
    if (auto report = poll()) return report;
    const double left = std::chrono::duration<double>(end - Clock::now()).count();
    if (left <= 0) return std::nullopt;
    ready_signal_->wait(left);
  }
}

Result<std::map<std::string, double>> DeviceExecutors::measure(std::span<const EvaluatedMember> members,
                                                               data::Part part) {
  DeviceState& first = find_device(members.front().job.device);
  const bool is_one = std::ranges::all_of(
      members, [&](const EvaluatedMember& member) { return &find_device(member.job.device) == &first; });
  if (is_one) return first.device.executor->measure(members, part);
  // The first devices may lack an operator of a member.
  for (std::size_t i = 0; i + 1 < devices_.size(); ++i) {
    auto measured = devices_[i].device.executor->measure(members, part);
    if (measured || measured.error().code != Code::kUnimplemented) return measured;
  }
  return devices_.back().device.executor->measure(members, part);
}

}  // namespace lanista::engine
