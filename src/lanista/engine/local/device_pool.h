#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lanista/base/clock.h"
#include "lanista/base/file_system.h"
#include "lanista/io/data/dataset.h"
#include "lanista/engine/core/device_executors.h"
#include "lanista/engine/core/study_devices.h"
#include "lanista/engine/remote/worker_config.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/opaque.h"

namespace lanista::runtime {

/// A device by the name that a study has for it.
struct NamedBackend {
  std::string name;
  const nn::Backend* backend = nullptr;  ///< outlives what is made of it; null: own kernels at a brief's level
};

/// Threads that feed a device: where lanes cost little, no more than there are trials at a time. 0: as on the CPU.
std::int64_t feeding_threads(const nn::Capability& capability, std::int64_t slots);

/// What an executor of this device is made with, of a study that trains so many trials at a time: workers and pipelines
/// of a brief are own kernels'; others have as many threads as feed them, and a lane for every trial that is under way,
/// if lanes cost little there.
engine::WorkerConfig config_for_device(const NamedBackend& device, engine::WorkerConfig worker_config, std::int64_t slots);

/// The same of a study's only device: workers and pipelines are what the brief says, if it does.
engine::WorkerConfig config_for_only_device(const NamedBackend& device, engine::WorkerConfig worker_config, std::int64_t slots);

/// Several devices at work on one study, on one data set, each with its share of the memory.
struct DevicePool {
  std::unique_ptr<engine::Executor> executor;
  std::vector<engine::TrainingDevice> devices;
  engine::MeasureDevices measure;
  schedule::Machine machine;  ///< all workers and all memory
};

/// The devices as they would be at work, and how fast each is at trials of this study; nobody trains anything yet.
/// `like` is engine::benchmark_job. Errors: those of device_speed, which name the device.
struct TimedDevices {
  std::vector<engine::TrainingDevice> devices;
  std::vector<schedule::DeviceSpeed> speeds;
};
Result<TimedDevices> time_devices(const engine::WorkerConfig& worker_config, const std::vector<NamedBackend>& devices,
                                  std::int64_t slots, const engine::Job& like, const data::Dataset& data,
                                  const nn::Operators& operators, const Clock& clock);

/// As WorkerExecutor::create, whose errors name the device. At least one device; all but `worker_config` and `operators`
/// outlive the crew.
Result<DevicePool> make_device_pool(const engine::WorkerConfig& worker_config, const std::vector<NamedBackend>& devices,
                                    std::int64_t slots, const data::Dataset& data, const nn::Operators& operators,
                                    FileSystem& fs, const Clock& clock);

}  // namespace lanista::runtime
