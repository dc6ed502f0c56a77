#pragma once

#include <memory>

#include "lanista/plan/elastic/scheduler_state.h"

namespace lanista::schedule {

/// Returns the policy that gives each trial one worker, in the order of arrival.
std::unique_ptr<Policy> first_come();

}  // namespace lanista::schedule
