#pragma once

#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/plan/pipeline/model.h"

namespace lanista::engine {

/// Reads the devices of a pipeline from `text`, YAML or JSON; `file` is its name for messages.
///
/// - `classes`: each has `name`. Optional are `count` (default: 1), `per_machine` (default: all), `memory_mb` (default:
///   unlimited), `speed` (default: 1) and `inside`, the link between two devices of one machine (default: the link of
///   the class to itself).
/// - `links` between machines: each has `between: [NAME, NAME]`. A class on one machine needs no link to itself if it
///   has `inside` or one device.
/// - `note`: any text.
///
/// A link has `us` (latency in microseconds, default: 0) and `gb_per_second` (10^9 bytes a second, required). Errors:
/// kInvalidArgument, those of pipeline::check(Devices). The message has every mistake with its place: an unknown key,
/// or a value that is not allowed. A link may be missing, defined twice, or name an unknown class.
Result<pipeline::Devices> read_devices(std::string_view text, const std::string& file);

}  // namespace lanista::engine
