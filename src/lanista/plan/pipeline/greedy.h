#pragma once

#include <vector>

#include "lanista/plan/pipeline/schedule.h"

namespace lanista::pipeline {

/// Returns the different device sets of a plan, in the order of their first stages, with empty schedules.
///
/// `stages` gets the stages of each set.
std::vector<RankSchedule> ranks_of(const PipelinePlan& plan, std::vector<std::vector<std::uint32_t>>* stages);

}  // namespace lanista::pipeline
