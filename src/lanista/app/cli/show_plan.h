#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/engine/local/plan_timing.h"
#include "lanista/exec/program/cpu_speed.h"
#include "lanista/exec/program/plan.h"
#include "lanista/plan/cost/cost_table.h"
#include "lanista/search/study/timed_steps.h"

namespace lanista::cli {

/// A program with all that is known about its time.
struct TimedPlan {
  std::vector<nn::PlanLine> lines;
  std::int64_t bytes = 0;  ///< of planned memory, with one lane
  nn::CpuSpeed machine;
  runtime::PlanTimes times;

  graph::CostPrices prices() const;
  graph::CostTable costs() const;  ///< one row a work, the mean of the lines that do it
};

/// A table, a line a call, with the totals of a step and of a prediction below.
std::string plan_text(const TimedPlan& plan);
nlohmann::json plan_json(const TimedPlan& plan);

/// Stages of a trial's step (run.pipeline) with Gantt charts of it, simulated and measured; `trial` is whom it was
/// timed in.
std::string timed_step_text(const study::TrialStep& step, TrialId trial);
nlohmann::json timed_step_json(const study::TrialStep& step);

/// Prints the program of a trial ("DIR#N"; "DIR": the best) and measures it for less than a second. What was measured
/// goes into the study's log, unless somebody else writes there. Gives the exit code.
int show_plan(const std::string& target, bool as_json);

}  // namespace lanista::cli
