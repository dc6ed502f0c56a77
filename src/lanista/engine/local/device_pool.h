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
  std::string name;                      ///< As in run.devices.
  const nn::Backend* backend = nullptr;  ///< Outlives all users; null: lanista kernels at the configured level.
};

/// Number of threads that drive a device. If lanes are inexpensive there, at most one for each slot. 0: as on the CPU.
std::int64_t feeding_threads(const nn::Capability& capability, std::int64_t slots);

/// The configuration of a device's executor in a study with `slots` concurrent trials. Configured workers and pipelines
/// apply to lanista kernels only. Other devices get feeding_threads(), and one lane for each slot if lanes are
/// inexpensive.
engine::WorkerConfig config_for_device(const NamedBackend& device, engine::WorkerConfig worker_config,
                                       std::int64_t slots);

/// The configuration of a study's only device. Configured workers and pipelines apply to every kind of device.
engine::WorkerConfig config_for_only_device(const NamedBackend& device, engine::WorkerConfig worker_config,
                                            std::int64_t slots);

/// Several devices that train one study on one data set, each with its share of the memory.
struct DevicePool {
  std::unique_ptr<engine::Executor> executor;   ///< Runs jobs on all devices.
  std::vector<engine::TrainingDevice> devices;  ///< For Services::devices.
  engine::MeasureDevices measure;               ///< For Services::measure_devices.
  schedule::Machine machine;                    ///< All workers and all memory.
};

/// Devices with measured speeds.
struct TimedDevices {
  std::vector<engine::TrainingDevice> devices;  ///< As in DevicePool.
  std::vector<schedule::DeviceSpeed> speeds;    ///< In the same order.
};
/// Measures the devices at trials of this study, without training one. `like` is engine::benchmark_job. Errors: those
/// of device_speed, with the name of the device.
Result<TimedDevices> time_devices(const engine::WorkerConfig& worker_config, const std::vector<NamedBackend>& devices,
                                  std::int64_t slots, const engine::Job& like, const data::Dataset& data,
                                  const nn::Operators& operators, const Clock& clock);

/// Makes an executor for at least one device. All arguments except `worker_config` and `operators` outlive the pool.
/// Errors: those of WorkerExecutor::create, with the name of the device.
Result<DevicePool> make_device_pool(const engine::WorkerConfig& worker_config, const std::vector<NamedBackend>& devices,
                                    std::int64_t slots, const data::Dataset& data, const nn::Operators& operators,
                                    FileSystem& fs, const Clock& clock);

}  // namespace lanista::runtime
