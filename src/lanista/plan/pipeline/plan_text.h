#pragma once

#include <string>

#include "lanista/plan/pipeline/plan.h"
#include "lanista/plan/pipeline/simulate.h"

namespace lanista::pipeline {

/// The stage graph as a table, a line a stage: devices, micro-batch, samples in flight, operators, who comes next.
/// `problem` (may be null) adds times of a micro-batch, memory and names of operators; it must be the plan's own.
std::string plan_text(const PipelinePlan& plan, const Problem* problem);

/// What a step takes against its bounds, and a Gantt chart of it.
std::string simulation_text(const SimulationResult& simulation, const Schedule& schedule, const PipelinePlan& plan,
                            const Problem& problem);

}  // namespace lanista::pipeline
