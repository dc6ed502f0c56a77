#pragma once

#include "support/base/long_form.h"

namespace lanista::device::testing {

/// True if the environment asks for all cases of the equivalence tests of devices (LANISTA_FULL_EQUIVALENCE).
inline bool runs_all_cases() { return runs_long_form("LANISTA_FULL_EQUIVALENCE", "LANISTA_FULL_EQUIVALENCE"); }

}  // namespace lanista::device::testing
