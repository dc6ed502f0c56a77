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

/// Rung by executors that have something to tell, so that who waits for several of them need not ask each in turn.
/// Thread-safe.
class ReadySignal {
 public:
  void set();
  /// Until it was rung since the last wait, at most so long.
  void wait(double seconds);

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool is_set_ = false;
};

/// Several executors, each of one device, as one: a job goes to the one of its device, and what they tell comes from
/// all of them, workers numbered one executor behind the other. Commands follow the jobs. Who is asked for a device
/// that is not there is the first.
class DeviceExecutors final : public Executor {
 public:
  struct Device {
    std::string name;
    std::unique_ptr<Executor> executor;
    std::int64_t workers = 1;
  };
  /// At least one; `bell` is what they ring.
  DeviceExecutors(std::vector<Device> devices, std::shared_ptr<ReadySignal> bell);

  Result<void> start(const Job& job) override;
  void command(const Command& command) override;
  std::optional<Report> next(double seconds) override;
  /// Members of one device are measured by it; a blend of several devices' by the first of all that can.
  Result<std::map<std::string, double>> measure(std::span<const EvaluatedMember> members, data::Part part) override;

 private:
  struct DeviceState {
    Device device;
    std::int64_t first_worker = 0;
    bool paused = false;  ///< it has told so
  };
  DeviceState& find_device(const std::string& device);
  DeviceState* device_of_trial(TrialId trial);
  void arrange(const UpdateGroups& arranged);
  std::optional<Report> poll();
  /// As who stands outside is to hear it; none: there is nothing to be told yet.
  std::optional<Report> translate_report(Report report, DeviceState& place);

  std::shared_ptr<ReadySignal> bell_;  // goes when those have gone who ring it
  std::vector<DeviceState> devices_;
  std::map<TrialId, std::size_t> trial_devices_;  // of every trial that was started
  std::size_t next_device_ = 0;                  // who is asked first
};

}  // namespace lanista::engine
