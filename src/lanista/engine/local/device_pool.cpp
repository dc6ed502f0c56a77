#include "lanista/engine/local/device_pool.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "lanista/engine/local/crash_marks.h"
#include "lanista/engine/local/device_speed.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/exec/train/trial_run.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::runtime {
namespace {

const program::Backend& backend_of(const NamedBackend& device) {
  return device.backend != nullptr ? *device.backend : program::cpu_backend();
}

/// The device's fixed share of the memory. With shared memory, a failure would depend on the order of events.
engine::WorkerConfig config_share_for(const NamedBackend& device, const engine::WorkerConfig& worker_config,
                                      std::int64_t slots, std::int64_t devices) {
  engine::WorkerConfig own = devices == 1 ? config_for_only_device(device, worker_config, slots)
                                          : config_for_device(device, worker_config, slots);
  own.memory_bytes = std::max<std::int64_t>(1, machine_of(worker_config).bytes / devices);
  return own;
}

engine::TrainingDevice training_device(const NamedBackend& device, const plan::Machine& machine) {
  return {device.name, std::string(backend_of(device).numeric_class()), machine};
}

/// A function that compiles each program once, for one trial, to check whether the device supports it.
std::function<bool(const engine::Job&)> support_check_of(const NamedBackend& device, const data::Dataset& data,
                                                         const program::Operators& operators) {
  if (device.backend == nullptr) return {};
  return [backend = device.backend, &data, operators, ops = autodiff::training_ops(operators.table()),
          known = std::map<Digest, bool>()](const engine::Job& job) mutable {
    const Digest key = train::lane_group_key(job.model, job.recipe, ops, *backend);
    const auto it = known.find(key);
    if (it != known.end()) return it->second;
    return known[key] = can_train(job, data, operators, *backend);
  };
}

Error device_error(const std::string& name, Error error) {
  error.message = "device " + name + ": " + error.message + "; or leave it out of run.devices";
  return error;
}

Result<std::vector<plan::DeviceSpeed>> speeds_of(const std::vector<NamedBackend>& devices,
                                                 const std::vector<engine::TrainingDevice>& training_devices,
                                                 const engine::Job& like, const data::Dataset& data,
                                                 const program::Operators& operators, const Clock& clock) {
  std::vector<plan::DeviceSpeed> speeds;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    auto speed = device_speed(like, data, operators, backend_of(devices[i]), training_devices[i].machine, clock);
    if (!speed) return device_error(devices[i].name, std::move(speed).error());
    speeds.push_back(*speed);
  }
  return speeds;
}

}  // namespace

std::int64_t feeding_threads(const program::Capability& capability, std::int64_t slots) {
  return capability.prefers_many_lanes ? std::min(capability.workers, slots) : capability.workers;
}

engine::WorkerConfig config_for_only_device(const NamedBackend& device, engine::WorkerConfig worker_config,
                                            std::int64_t slots) {
  if (device.backend == nullptr) return worker_config;
  const program::Capability capability = device.backend->capability();
  worker_config.numeric_class = device.backend->numeric_class();
  if (worker_config.workers == 0) worker_config.workers = feeding_threads(capability, slots);
  if (worker_config.lanes == 0 && capability.prefers_many_lanes) worker_config.lanes = slots;
  return worker_config;
}

engine::WorkerConfig config_for_device(const NamedBackend& device, engine::WorkerConfig worker_config,
                                       std::int64_t slots) {
  if (device.backend == nullptr) return worker_config;
  worker_config.workers = std::max<std::int64_t>(1, feeding_threads(device.backend->capability(), slots));
  worker_config.pipeline = 1;
  return config_for_only_device(device, std::move(worker_config), slots);
}

Result<TimedDevices> time_devices(const engine::WorkerConfig& worker_config, const std::vector<NamedBackend>& devices,
                                  std::int64_t slots, const engine::Job& like, const data::Dataset& data,
                                  const program::Operators& operators, const Clock& clock) {
  TimedDevices out;
  for (const NamedBackend& device : devices) {
    out.devices.push_back(
        training_device(device, machine_of(config_share_for(device, worker_config, slots, std::ssize(devices)))));
  }
  LANISTA_ASSIGN(out.speeds, speeds_of(devices, out.devices, like, data, operators, clock));
  return out;
}

Result<DevicePool> make_device_pool(const engine::WorkerConfig& worker_config, const std::vector<NamedBackend>& devices,
                                    std::int64_t slots, const data::Dataset& data, const program::Operators& operators,
                                    FileSystem& fs, const Clock& clock) {
  DevicePool pool;
  const auto ready_signal = std::make_shared<engine::ReadySignal>();
  WorkerOptions options;
  options.on_ready = [ready_signal] { ready_signal->set(); };
  if (worker_config.crash_marks) options.marks = std::make_shared<StudyMarks>(fs, worker_config.study_folder);
  std::vector<engine::DeviceExecutors::Device> device_executors;
  std::int64_t workers = 0;
  for (const NamedBackend& device : devices) {
    const engine::WorkerConfig own = config_share_for(device, worker_config, slots, std::ssize(devices));
    options.backend = device.backend;
    options.first_worker = static_cast<std::size_t>(workers);
    auto executor = WorkerExecutor::create(own, data, operators, fs, clock, options);
    if (!executor) return device_error(device.name, std::move(executor).error());
    const plan::Machine machine = (*executor)->machine();
    pool.devices.push_back(training_device(device, machine));
    pool.devices.back().supports = support_check_of(device, data, operators);
    workers += machine.workers;
    device_executors.push_back({device.name, *std::move(executor), machine.workers});
  }
  pool.machine = {.workers = workers, .lanes = worker_config.lanes, .bytes = machine_of(worker_config).bytes};
  pool.executor = std::make_unique<engine::DeviceExecutors>(std::move(device_executors), ready_signal);
  pool.measure = [devices, training_devices = pool.devices, &data, operators, &clock](const engine::Job& like) {
    return speeds_of(devices, training_devices, like, data, operators, clock);
  };
  return pool;
}

}  // namespace lanista::runtime
