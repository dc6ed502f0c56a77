#pragma once

#include <string>

#include "lanista/plan/pipeline/plan.h"
#include "lanista/plan/pipeline/simulate.h"

namespace lanista::pipeline {

/// Returns a plan as a table for people: a line on the whole plan, a header, and one line for each stage.
///
/// Columns are stage, successors, devices, micro-batch, k of kFkB, samples in flight and operators. `problem` adds the
/// times of a micro-batch, memory and names of operators. It may be null; otherwise it must be the problem of the plan.
std::string plan_text(const PipelinePlan& plan, const Problem* problem);

/// Returns the time of a step, its lower bounds and a Gantt chart, as several lines for people.
std::string simulation_text(const SimulationResult& simulation, const Schedule& schedule, const PipelinePlan& plan,
                            const Problem& problem);

}  // namespace lanista::pipeline
