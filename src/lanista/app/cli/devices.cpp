#include "lanista/app/cli/devices.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>

#include "lanista/base/precision.h"
#include "lanista/exec/backends/device.h"

namespace lanista::cli {
namespace {

Error invalid_setting(const std::string& message) { return {Code::kInvalidArgument, message, "run.devices"}; }

std::vector<std::string> listed(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string name; std::getline(in, name, ',');) out.push_back(name);
  return out;
}

/// All names but one, with commas: "cpu,cuda:1".
std::string without(const std::vector<std::string>& names, const std::string& name) {
  std::string out;
  for (const std::string& other : names) {
    if (other != name) out += (out.empty() ? "" : ",") + other;
  }
  return out;
}

Result<const program::Backend*> backend_of(const std::string& name, const std::vector<std::string>& names,
                                           const study::StudyConfig& config) {
  const std::string& precision = config.train.numerics.precision;
  const bool has_lanista_kernels = name == study::kCpu || name.starts_with("block:");
  if (has_lanista_kernels && stored(precision_of(precision)) != precision_of(precision)) {
    return invalid_setting("train.precision is " + precision + ", which device " + name +
                           " does not support; allowed: float32, or a device of LibTorch (run.devices: [cuda:0], or "
                           "torch:cpu)");
  }
  if (name == study::kCpu) return nullptr;
  if (config.train.numerics.shards > 1 || config.train.numerics.accumulate > 1) {
    return invalid_setting("train.shards and train.accumulate must be 1 on device " + name +
                           "; remove them, or set run.devices: [cpu]");
  }
  auto backend = device::open(name);
  if (!backend && names.size() > 1) {
    return Error{backend.error().code,
                 backend.error().message + "; to run without it: --device " + without(names, name), "run.devices"};
  }
  return backend;
}

}  // namespace

Result<std::vector<runtime::NamedBackend>> devices_of(const study::StudyConfig& config,
                                                      const WorkerOverrides& worker_overrides) {
  const std::vector<std::string> names =
      worker_overrides.device ? listed(*worker_overrides.device) : config.run.devices;
  if (names.empty())
    return invalid_setting("the list of devices is empty; allowed: " + std::string(study::kCpu) + ", or a GPU");
  const bool is_own = names.size() == 1 && names.front() == study::kCpu;
  if (!is_own && uses_processes(worker_overrides, config)) {
    const std::string which = names.size() == 1 ? "device " + names.front() : "several devices";
    return invalid_setting("run.isolation is process, which is not supported on " + which +
                           "; allowed: thread, or run.devices: [cpu]");
  }
  std::vector<runtime::NamedBackend> out;
  for (auto it = names.begin(); it != names.end(); ++it) {
    if (std::find(names.begin(), it, *it) != it) {
      return Error{Code::kInvalidArgument, "device " + *it + " is listed twice; list each device once", "run.devices"};
    }
    LANISTA_ASSIGN(const program::Backend* backend, backend_of(*it, names, config));
    out.push_back({*it, backend});
  }
  return out;
}

Result<std::optional<std::vector<plan::DeviceSpeed>>> speeds_from_environment(std::size_t devices) {
  const char* const speeds_text = std::getenv("LANISTA_DEVICE_SPEEDS");
  std::optional<std::vector<plan::DeviceSpeed>> out;
  if (speeds_text == nullptr || *speeds_text == '\0') return out;
  out.emplace();
  for (const std::string& text : listed(speeds_text)) {
    char* end = nullptr;
    const double speed = std::strtod(text.c_str(), &end);
    const bool good = !text.empty() && *end == '\0' && speed > 0 && speed < 1e300;
    if (!good) out->clear();
    if (!good) break;
    out->push_back({.alone = speed, .together = speed});
  }
  if (out->size() == devices) return out;
  return Error{Code::kInvalidArgument,
               "is '" + std::string(speeds_text) + "'; it must be " + std::to_string(devices) +
                   " numbers above 0, separated by commas, one a device",
               "LANISTA_DEVICE_SPEEDS"};
}

}  // namespace lanista::cli
