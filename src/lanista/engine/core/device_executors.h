#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lanista/engine/core/executor.h"

namespace lanista::engine {

/// Wakes the thread that waits for several executors. Each executor calls set() when it has a report. Thread-safe.
class ReadySignal {
 public:
  /// Wakes the waiting thread. If none waits, the next wait() returns at once.
  void set();
  /// Returns when set() was called since the last wait, after `seconds` at the latest.
  void wait(double seconds);

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool is_set_ = false;
};

/// Combines the executors of several devices into one. A job goes to the executor of its device, or to the first one if
/// its device is unknown. Commands follow the job, and reports of all executors are merged. PauseAll goes to all, and
/// AllPausedReport comes when all have paused. HelpTrial goes to the first executor. Workers are numbered through all
/// executors, in order of the devices. One thread calls it.
class DeviceExecutors final : public Executor {
 public:
  /// One device with its executor.
  struct Device {
    std::string name;                    ///< Name as in Job::device.
    std::unique_ptr<Executor> executor;  ///< Executor of the jobs of this device.
    std::int64_t workers = 1;            ///< Number of its workers.
  };
  /// Takes at least one device, in order of run.devices. Each executor must call `ready_signal->set()` when it has a
  /// report.
  DeviceExecutors(std::vector<Device> devices, std::shared_ptr<ReadySignal> ready_signal);

  Result<void> start(const Job& job) override;
  void command(const Command& command) override;
  std::optional<Report> next(double seconds) override;
  /// Metrics by name of the (blended) members on a part of the data. The device of the members measures them. A blend
  /// over several devices is measured by the first device that supports all members. Needs at least one member. Errors:
  /// those of the device's executor, kUnimplemented (no device supports all members).
  Result<std::map<std::string, double>> measure(std::span<const EvaluatedMember> members, data::Part part) override;

 private:
  struct DeviceState {
    Device device;
    std::int64_t first_worker = 0;
    bool paused = false;  ///< It has reported AllPausedReport.
  };
  DeviceState& find_device(const std::string& device);
  DeviceState* device_of_trial(TrialId trial);
  void arrange(const UpdateGroups& arranged);
  std::optional<Report> poll();
  /// The report with worker numbers and device as the caller sees them; nullopt: it is dropped.
  std::optional<Report> translate_report(Report report, DeviceState& state);

  std::shared_ptr<ReadySignal> ready_signal_;  // Destroyed after the executors, which use it.
  std::vector<DeviceState> devices_;
  std::map<TrialId, std::size_t> trial_devices_;  // Index of the device, of every started trial.
  std::size_t next_device_ = 0;                   // Device to poll first.
};

}  // namespace lanista::engine
