#pragma once

#include <memory>

#include "lanista/plan/elastic/scheduler_state.h"

namespace lanista::plan {

/// Returns the policy that gives each trial one worker, in the order of arrival. A trial keeps its worker; later ones
/// wait until one is free.
std::unique_ptr<Policy> first_come();

}  // namespace lanista::plan
