#pragma once

#include <memory>

#include "lanista/plan/elastic/scheduler_state.h"

// Policies of other systems, as baselines.
namespace lanista::plan {

/// Returns the policy that gives each trial one worker, the longest trial first.
std::unique_ptr<Policy> longest_trial_first();
/// Returns Fluid's static formula, applied to the idle workers whenever trials wait. Running trials keep their width.
std::unique_ptr<Policy> fluid_static();
/// Returns Fluid's dynamic formula, applied to all trials at every event.
///
/// Trials start longest first while their widths fit. A trial that narrows gets the new width (see dynamic_widths).
std::unique_ptr<Policy> fluid_dynamic();
/// Returns the policy that gives all running trials equal numbers of whole workers (ResourceChangingScheduler of Ray
/// Tune).
std::unique_ptr<Policy> uniform_redistribution();

}  // namespace lanista::plan
