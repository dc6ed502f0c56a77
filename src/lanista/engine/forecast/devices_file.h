#pragma once

#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/plan/pipeline/model.h"

namespace lanista::engine {

/// Reads YAML (so JSON too): `classes`, each with `name`, `count`, and maybe `per_machine` (default: all of them),
/// `memory_mb` (default: without end), `speed` (1), `inside` (a link between two devices of one machine); `links`
/// between machines, each with `between: [NAME, NAME]`; `note`. A link has `us` (0) and `gb_per_second`. A class that
/// is on one machine alone needs no link to itself. Errors: kInvalidArgument with every mistake and its place: an
/// unknown key, a value that is not allowed, a link of a class that is not there or that stands twice, one that is
/// missing, and those of pipeline::check(Devices).
Result<pipeline::Devices> read_devices(std::string_view text, const std::string& file);

}  // namespace lanista::engine
