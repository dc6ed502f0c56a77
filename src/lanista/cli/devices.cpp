#include "lanista/cli/devices.h"

#include "lanista/base/precision.h"
#include "lanista/device/device.h"

namespace lanista::cli {
namespace {

Error cannot(const std::string& message) { return {Code::kUnimplemented, message, "run.devices"}; }

}  // namespace

Result<const nn::Backend*> backend_of(const study::StudyConfig& config, const Crew& crew) {
  const std::vector<std::string>& devices = config.run.devices;
  if (devices.size() != 1 && !crew.device) {
    return cannot(std::to_string(devices.size()) + " devices: a study trains on one of them in this version");
  }
  const std::string& name = crew.device ? *crew.device : devices.front();
  const std::string& precision = config.train.precision;
  const bool is_of_blocks = name.starts_with("block:");
  if ((name == study::kCpu || is_of_blocks) && stored(precision_of(precision)) != precision_of(precision)) {
    return cannot("train.precision: " + precision + " cannot be on device " + name +
                  "; take float32, or a device of LibTorch (run.devices: [cuda:0], or torch:cpu)");
  }
  if (name == study::kCpu) return nullptr;
  const std::string without = " on device " + name + " yet; leave it out, or run.devices: [cpu]";
  if (has_processes(crew, config)) return cannot("run.isolation: process cannot be" + without);
  if (config.train.shards > 1 || config.train.accumulate > 1) {
    return cannot("train.shards and train.accumulate above 1 cannot be" + without);
  }
  return device::open(name);
}

}  // namespace lanista::cli
