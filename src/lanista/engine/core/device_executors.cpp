#include "lanista/engine/core/device_executors.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::engine {

void Bell::ring() {
  const std::lock_guard lock(mutex_);
  is_rung_ = true;
  rung_.notify_one();
}

void Bell::wait(double seconds) {
  std::unique_lock lock(mutex_);
  rung_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return is_rung_; });
  is_rung_ = false;
}

DeviceExecutors::DeviceExecutors(std::vector<Device> devices, std::shared_ptr<Bell> bell) : bell_(std::move(bell)) {
  LANISTA_CHECK(!devices.empty(), "there is a device");
  std::int64_t workers = 0;
  for (Device& device : devices) {
    places_.push_back({std::move(device), workers});
    workers += places_.back().device.workers;
  }
}

DeviceExecutors::Place& DeviceExecutors::place_named(const std::string& device) {
  const auto it = std::ranges::find(places_, device, [](const Place& place) { return place.device.name; });
  return it == places_.end() ? places_.front() : *it;
}

DeviceExecutors::Place* DeviceExecutors::place_of(TrialId trial) {
  const auto it = homes_.find(trial);
  return it == homes_.end() ? nullptr : &places_[it->second];
}

Result<void> DeviceExecutors::start(const Job& job) {
  Place& place = place_named(job.device);
  Place* before = place_of(job.trial);
  // What it did elsewhere is void, as it would be with one executor.
  if (before != nullptr && before != &place) before->device.executor->command(Finish{job.trial, false, true});
  homes_[job.trial] = static_cast<std::size_t>(&place - places_.data());
  return place.device.executor->start(job);
}

void DeviceExecutors::command(const Command& command) {
  if (const auto* arranged = std::get_if<Arrange>(&command)) return arrange(*arranged);
  if (std::holds_alternative<PauseAll>(command)) {
    for (Place& place : places_) place.device.executor->command(command);
    return;
  }
  const auto* help = std::get_if<Help>(&command);
  if (help != nullptr) return places_.front().device.executor->command(command);
  Place* place = nullptr;
  std::visit(
      [&](const auto& told) {
        if constexpr (requires { TrialId{told.trial}; }) place = place_of(told.trial);
      },
      command);
  if (place != nullptr) place->device.executor->command(command);
}

void DeviceExecutors::arrange(const Arrange& arranged) {
  for (Place& place : places_) {
    const auto is_here = [&](TrialId trial) { return place_of(trial) == &place; };
    Arrange own;
    for (const schedule::Regrouping::Part& part : arranged.changes.parts) {
      schedule::Regrouping::Part kept{part.group, {}};
      std::ranges::copy_if(part.trials, std::back_inserter(kept.trials), is_here);
      if (!kept.trials.empty()) own.changes.parts.push_back(std::move(kept));
    }
    std::ranges::copy_if(arranged.allow, std::back_inserter(own.allow), is_here, &Allow::trial);
    if (!own.changes.parts.empty() || !own.allow.empty()) place.device.executor->command(own);
  }
}

std::optional<Report> DeviceExecutors::told(Report report, Place& place) {
  // Of before it went elsewhere: void, but for files and for what was worked.
  const bool is_of_start = std::holds_alternative<EpochReport>(report) ||
                           std::holds_alternative<FailureReport>(report) ||
                           std::holds_alternative<FinishedReport>(report);
  if (is_of_start && place_of(*trial_of(report)) != &place) return std::nullopt;
  if (auto* span = std::get_if<SpanReport>(&report)) {
    span->worker += place.first_worker;
    span->device = place.device.name;
  } else if (auto* worker = std::get_if<WorkerReport>(&report)) {
    worker->worker += place.first_worker;
  } else if (std::holds_alternative<PausedReport>(report)) {
    place.paused = true;
    if (!std::ranges::all_of(places_, &Place::paused)) return std::nullopt;
  }
  return report;
}

std::optional<Report> DeviceExecutors::poll() {
  // Each in its turn, so that none is heard only when another one has nothing to say.
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[(turn_ + i) % places_.size()];
    while (auto report = place.device.executor->next(0)) {
      if (auto out = told(*std::move(report), place)) {
        turn_ = (turn_ + i + 1) % places_.size();
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
    bell_->wait(left);
  }
}

Result<std::map<std::string, double>> DeviceExecutors::measure(std::span<const Tested> members, data::Part part) {
  Place& first = place_named(members.front().job.device);
  const bool is_one =
      std::ranges::all_of(members, [&](const Tested& member) { return &place_named(member.job.device) == &first; });
  if (is_one) return first.device.executor->measure(members, part);
  // Some member's operators may have no form on the first.
  for (std::size_t i = 0; i + 1 < places_.size(); ++i) {
    auto measured = places_[i].device.executor->measure(members, part);
    if (measured || measured.error().code != Code::kUnimplemented) return measured;
  }
  return places_.back().device.executor->measure(members, part);
}

}  // namespace lanista::engine
