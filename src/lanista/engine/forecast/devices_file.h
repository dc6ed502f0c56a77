#pragma once

#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/plan/pipeline/model.h"

namespace lanista::engine {

/// Reads YAML or JSON with the devices of a pipeline.
///
/// - `classes`: each has `name` and `count`. Optional are `per_machine` (default: all), `memory_mb` (default:
///   unlimited), `speed` (default: 1) and `inside`, the link between two devices of one machine.
/// - `links` between machines: each has `between: [NAME, NAME]`. A class on one machine needs no link to itself.
/// - `note`: any text.
///
/// A link has `us` (default: 0) and `gb_per_second`. Errors: kInvalidArgument with every mistake and its place: an
/// unknown key, a value that is not allowed, a link that is missing, is defined twice or names an unknown class, and
/// those of pipeline::check(Devices).
Result<pipeline::Devices> read_devices(std::string_view text, const std::string& file);

}  // namespace lanista::engine
