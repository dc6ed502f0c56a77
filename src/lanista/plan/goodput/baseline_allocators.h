#pragma once

#include <memory>

#include "lanista/plan/goodput/allocation.h"

// Allocators to be measured against.
namespace lanista::cluster {

/// Every job gets what its user asks for, in the order of arrival, and keeps it; who does not fit waits, and so do
/// those behind.
std::unique_ptr<Allocator> first_come();
/// Tiresias (Gu et al., NSDI'19) as in Pollux's artefact: jobs of less than 16 device-hours before those of more, in
/// the order in which they came to be such; a job that does not fit is passed over; who runs stays where it is; others
/// are put on the nodes with the most free devices.
std::unique_ptr<Allocator> tiresias();
/// Optimus (Peng et al., EuroSys'18) as in Pollux's artefact, with `JobView::true_costs`: one replica each, then one
/// more to whoever gains the most time by it.
std::unique_ptr<Allocator> optimus();

}  // namespace lanista::cluster
