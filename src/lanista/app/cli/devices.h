#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "lanista/app/cli/worker_overrides.h"
#include "lanista/base/result.h"
#include "lanista/engine/local/device_pool.h"
#include "lanista/search/study/config.h"

namespace lanista::cli {

/// Returns the backends, with names, of the devices that the command line names, or else run.devices of the study. The
/// backend of device cpu is null. Errors: kUnavailable (this machine lacks one), kInvalidArgument (no device, a device
/// that is listed twice, or one that does not support a setting). Each message names an alternative.
Result<std::vector<runtime::NamedBackend>> devices_of(const study::StudyConfig& config,
                                                      const WorkerOverrides& worker_overrides);

/// Returns the relative speeds of the devices from LANISTA_DEVICE_SPEEDS ("1,2.5": one number a device, in their
/// order). `devices` is their number. nullopt: the variable is not set or empty. They replace measured speeds, so that
/// a study on several kinds of devices can be repeated with the same bits. Errors: kInvalidArgument (not one number
/// above 0 for each device).
Result<std::optional<std::vector<plan::DeviceSpeed>>> speeds_from_environment(std::size_t devices);

}  // namespace lanista::cli
