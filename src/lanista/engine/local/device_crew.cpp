#include "lanista/engine/local/device_crew.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "lanista/engine/local/crash_marks.h"
#include "lanista/engine/local/device_speed.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/exec/train/trial_run.h"

namespace lanista::runtime {
namespace {

const nn::Backend& backend_of(const NamedBackend& device) {
  return device.backend != nullptr ? *device.backend : nn::cpu_backend();
}

/// Shares that nobody else can take: what is out of memory beside others would depend on when they come.
engine::WorkerBrief share_for(const NamedBackend& device, const engine::WorkerBrief& brief, std::int64_t slots,
                              std::int64_t devices) {
  engine::WorkerBrief own = devices == 1 ? brief_alone(device, brief, slots) : brief_for(device, brief, slots);
  own.memory_bytes = std::max<std::int64_t>(1, machine_of(brief).bytes / devices);
  return own;
}

engine::TrainingDevice training_device(const NamedBackend& device, const schedule::Machine& machine) {
  return {device.name, std::string(backend_of(device).numeric_class()), machine};
}

/// Asked once of each program: it is made, for one trial.
std::function<bool(const engine::Job&)> ability_of(const NamedBackend& device, const data::Dataset& data,
                                                   const nn::Operators& operators) {
  if (device.backend == nullptr) return {};
  return [backend = device.backend, &data, operators, ops = step::training_ops(operators.table()),
          known = std::map<Digest, bool>()](const engine::Job& job) mutable {
    const Digest key = train::machine_key(job.model, job.recipe, ops, *backend);
    const auto it = known.find(key);
    if (it != known.end()) return it->second;
    return known[key] = can_train(job, data, operators, *backend);
  };
}

Error of_device(const std::string& name, Error error) {
  error.message = "device " + name + ": " + error.message + "; or leave it out of run.devices";
  return error;
}

Result<std::vector<schedule::DeviceSpeed>> speeds_of(const std::vector<NamedBackend>& devices,
                                                     const std::vector<engine::TrainingDevice>& machines,
                                                     const engine::Job& like, const data::Dataset& data,
                                                     const nn::Operators& operators, const Clock& clock) {
  std::vector<schedule::DeviceSpeed> speeds;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    auto speed = device_speed(like, data, operators, backend_of(devices[i]), machines[i].machine, clock);
    if (!speed) return of_device(devices[i].name, std::move(speed).error());
    speeds.push_back(*speed);
  }
  return speeds;
}

}  // namespace

std::int64_t fitting_workers(const nn::Capability& capability, std::int64_t slots) {
  return capability.many_lanes ? std::min(capability.workers, slots) : capability.workers;
}

engine::WorkerBrief brief_alone(const NamedBackend& device, engine::WorkerBrief brief, std::int64_t slots) {
  if (device.backend == nullptr) return brief;
  const nn::Capability capability = device.backend->capability();
  brief.numeric_class = device.backend->numeric_class();
  if (brief.workers == 0) brief.workers = fitting_workers(capability, slots);
  if (brief.lanes == 0 && capability.many_lanes) brief.lanes = slots;
  return brief;
}

engine::WorkerBrief brief_for(const NamedBackend& device, engine::WorkerBrief brief, std::int64_t slots) {
  if (device.backend == nullptr) return brief;
  brief.workers = std::max<std::int64_t>(1, fitting_workers(device.backend->capability(), slots));
  brief.pipeline = 1;
  return brief_alone(device, std::move(brief), slots);
}

Result<TimedDevices> time_devices(const engine::WorkerBrief& brief, const std::vector<NamedBackend>& devices,
                                  std::int64_t slots, const engine::Job& like, const data::Dataset& data,
                                  const nn::Operators& operators, const Clock& clock) {
  TimedDevices out;
  for (const NamedBackend& device : devices) {
    out.devices.push_back(training_device(device, machine_of(share_for(device, brief, slots, std::ssize(devices)))));
  }
  LANISTA_ASSIGN(out.speeds, speeds_of(devices, out.devices, like, data, operators, clock));
  return out;
}

Result<DeviceCrew> make_device_crew(const engine::WorkerBrief& brief, const std::vector<NamedBackend>& devices,
                                    std::int64_t slots, const data::Dataset& data, const nn::Operators& operators,
                                    FileSystem& fs, const Clock& clock) {
  DeviceCrew crew;
  const auto bell = std::make_shared<engine::Bell>();
  WorkerOptions options;
  options.bell = [bell] { bell->ring(); };
  if (brief.crash_marks) options.marks = std::make_shared<StudyMarks>(fs, brief.study_folder);
  std::vector<engine::DeviceExecutors::Device> places;
  std::int64_t workers = 0;
  for (const NamedBackend& device : devices) {
    const engine::WorkerBrief own = share_for(device, brief, slots, std::ssize(devices));
    options.backend = device.backend;
    options.first_worker = static_cast<std::size_t>(workers);
    auto executor = WorkerExecutor::create(own, data, operators, fs, clock, options);
    if (!executor) return of_device(device.name, std::move(executor).error());
    const schedule::Machine machine = (*executor)->machine();
    crew.devices.push_back(training_device(device, machine));
    crew.devices.back().can = ability_of(device, data, operators);
    workers += machine.workers;
    places.push_back({device.name, *std::move(executor), machine.workers});
  }
  crew.machine = {.workers = workers, .lanes = brief.lanes, .bytes = machine_of(brief).bytes};
  crew.executor = std::make_unique<engine::DeviceExecutors>(std::move(places), bell);
  crew.measure = [devices, machines = crew.devices, &data, operators, &clock](const engine::Job& like) {
    return speeds_of(devices, machines, like, data, operators, clock);
  };
  return crew;
}

}  // namespace lanista::runtime
