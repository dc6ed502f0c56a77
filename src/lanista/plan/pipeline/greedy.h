#pragma once

#include <vector>

#include "lanista/plan/pipeline/schedule.h"

namespace lanista::pipeline {

/// The different sets of devices of a plan in order of their first stages, and the stages of each.
std::vector<RankSchedule> ranks_of(const PipelinePlan& plan, std::vector<std::vector<std::uint32_t>>* stages);

}  // namespace lanista::pipeline
