#pragma once

#include <memory>
#include <vector>

#include "lanista/plan/elastic/scheduler_state.h"

// Schedulers to be measured against.
namespace lanista::schedule {

/// One trial a worker, in the order of arrival: what most engines do.
std::unique_ptr<Policy> first_come();
/// The same, longest first.
std::unique_ptr<Policy> longest_trial_first();
/// Fluid's static formula on what is idle, whenever trials wait; who runs stays as it is.
std::unique_ptr<Policy> fluid_static();
/// Fluid's dynamic formula over everything, at every event, as printed but for its slip on the way down. Trials start
/// longest first while their widths fit.
std::unique_ptr<Policy> fluid_dynamic();
/// Equal numbers of whole workers for all that run, as Ray Tune's resource changing scheduler deals them.
std::unique_ptr<Policy> uniform_redistribution();

}  // namespace lanista::schedule
