#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lanista/base/clock.h"
#include "lanista/base/file_system.h"
#include "lanista/engine/core/device_executors.h"
#include "lanista/engine/core/study_devices.h"
#include "lanista/engine/remote/worker_config.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/io/data/dataset.h"

namespace lanista::runtime {

/// A backend with the name of its device in the study.
struct NamedBackend {
  std::string name;  ///< Name of the device, as in run.devices.
  /// Backend, which outlives all users; null: CPU backend at the configured level.
  const program::Backend* backend = nullptr;
};

/// Number of threads that give a device its work in a study with `slots` slots: Capability::workers. If the device
/// prefers many lanes, it is at most `slots`. 0: one for each core, as on the CPU.
std::int64_t feeding_threads(const program::Capability& capability, std::int64_t slots);

/// The configuration of one of several devices, in a study with `slots` concurrent trials. Configured workers and
/// pipelines apply to the CPU backend only (null), which keeps the configuration unchanged. Other devices get
/// feeding_threads(), at least 1, no pipeline, and their numeric class. If they prefer many lanes and none are
/// configured, they get one lane for each slot.
engine::WorkerConfig config_for_device(const NamedBackend& device, engine::WorkerConfig worker_config,
                                       std::int64_t slots);

/// The configuration of a study's only device, with `slots` concurrent trials. Configured workers and pipelines apply
/// to every kind of device. 0 workers become feeding_threads(), and 0 lanes become `slots` if the device prefers many
/// lanes. The numeric class becomes that of the device. With the CPU backend (null) nothing changes.
engine::WorkerConfig config_for_only_device(const NamedBackend& device, engine::WorkerConfig worker_config,
                                            std::int64_t slots);

/// Several devices that train one study on one data set. Each has an equal share of the memory.
struct DevicePool {
  std::unique_ptr<engine::Executor> executor;   ///< Runs jobs on all devices, each on the device of the job.
  std::vector<engine::TrainingDevice> devices;  ///< For Services::devices.
  engine::MeasureDevices measure;               ///< For Services::measure_devices; runs on the calling thread.
  plan::Machine machine;  ///< The workers of all devices together, the configured lanes, and all memory.
};

/// Devices with measured speeds.
struct TimedDevices {
  /// Name, numeric class and configured machine of each device. TrainingDevice::supports is null.
  std::vector<engine::TrainingDevice> devices;
  std::vector<plan::DeviceSpeed> speeds;  ///< Speed of each device, in the same order.
};
/// Measures the speed of each device with jobs like `like` (engine::benchmark_job), for some tenths of a second each.
/// `slots` is the study's strategy.slots, from which workers and lanes that are not set follow. No trial of the study
/// is trained. Errors: those of device_speed, with the name of the device.
Result<TimedDevices> time_devices(const engine::WorkerConfig& worker_config, const std::vector<NamedBackend>& devices,
                                  std::int64_t slots, const engine::Job& like, const data::Dataset& data,
                                  const program::Operators& operators, const Clock& clock);

/// Makes one executor a device, for at least one device, and joins them in DevicePool::executor. Each is configured by
/// config_for_device(), or config_for_only_device() if it is the only one. `slots` is the study's number of concurrent
/// trials. All arguments except `worker_config`, `devices` and `operators` outlive the pool. Errors: those of
/// WorkerExecutor::create, with the name of the device.
Result<DevicePool> make_device_pool(const engine::WorkerConfig& worker_config, const std::vector<NamedBackend>& devices,
                                    std::int64_t slots, const data::Dataset& data, const program::Operators& operators,
                                    FileSystem& fs, const Clock& clock);

}  // namespace lanista::runtime
