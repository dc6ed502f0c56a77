#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "lanista/app/cli/worker_overrides.h"
#include "lanista/base/result.h"
#include "lanista/engine/local/device_pool.h"
#include "lanista/search/study/config.h"

namespace lanista::cli {

/// The devices that a crew asks for, or a study's run.devices. Errors: kUnavailable (one is not here), kInvalidArgument
/// (a setting that one of them cannot do, or one that stands there twice), each with the way out.
Result<std::vector<runtime::NamedBackend>> devices_of(const study::StudyConfig& config,
                                                      const WorkerOverrides& worker_overrides);

/// Speeds that somebody says in place of measuring them (LANISTA_DEVICE_SPEEDS, "1,2.5": a number a device, in their
/// order), so that a study of several classes can be begun anew to the same bits. Absent: nobody does. Errors:
/// kInvalidArgument.
Result<std::optional<std::vector<schedule::DeviceSpeed>>> speeds_from_environment(std::size_t devices);

}  // namespace lanista::cli
