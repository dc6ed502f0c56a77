#pragma once

#include <memory>

#include "lanista/plan/goodput/allocation.h"

// Allocators of other systems, as baselines.
namespace lanista::goodput {

/// Returns the allocator that gives each job the replicas that its user requests, in the order of arrival.
///
/// A job keeps its devices. If a job does not fit, it waits, and so do all later jobs.
std::unique_ptr<Allocator> first_come();
/// Returns the allocator Tiresias (Gu et al., NSDI'19) as in Pollux's artefact.
///
/// Jobs with less than 16 device-hours so far precede the others. Each of the two queues is in the order of entry. A
/// job that does not fit is skipped. Running jobs keep their devices; new ones get the nodes with the most free
/// devices.
std::unique_ptr<Allocator> tiresias();
/// Returns the allocator Optimus (Peng et al., EuroSys'18) as in Pollux's artefact. `JobView::true_costs` must be set.
///
/// Each job gets one replica, and then the job that gains the most time gets one more.
std::unique_ptr<Allocator> optimus();

}  // namespace lanista::goodput
