#pragma once

#include <vector>

#include "lanista/plan/pipeline/schedule.h"

namespace lanista::pipeline {

/// Returns one rank for each different set of devices in a plan, in the order of their first stages, without actions.
///
/// `stages` must point to an empty list. It receives, for each rank, the numbers of its stages in ascending order.
std::vector<RankSchedule> ranks_of(const PipelinePlan& plan, std::vector<std::vector<std::uint32_t>>* stages);

}  // namespace lanista::pipeline
