#pragma once

#include <memory>

#include "lanista/plan/goodput/allocation.h"

namespace lanista::cluster {

/// For a group of trials that are judged together: the last of them ends as soon as possible. Bisection over the times
/// at which jobs would end (group_end_counts), at goodput, with the seconds of a restart for whoever changes; who ends
/// in time with what he has keeps it if it is not needed. Wants JobView::left; a job that does not say counts as much
/// as it has done. Where there are more jobs than devices the longest have one each. O(jobs x devices x log).
std::unique_ptr<Allocator> group_end_allocator();

}  // namespace lanista::cluster
