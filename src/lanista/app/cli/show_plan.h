#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/engine/local/plan_timing.h"
#include "lanista/exec/program/cpu_speed.h"
#include "lanista/exec/program/plan.h"
#include "lanista/plan/cost/costs.h"
#include "lanista/search/study/timed_steps.h"

namespace lanista::cli {

/// Returns the key of times that this program measures on this machine, without their work.
plan::CostKey measured_here();

/// The kernel calls of a trial's program with predicted and measured times.
struct TimedPlan {
  std::vector<program::PlanLine> lines;  ///< One for each kernel call.
  std::int64_t bytes = 0;                ///< Planned memory of one lane, in bytes.
  program::CpuSpeed machine;             ///< Measured speed of this machine.
  runtime::PlanTimes times;              ///< Measured times of the lines.

  /// Returns the rates that predict the time of a call: the measured peak arithmetic of a core, and the bandwidth of
  /// the cache level that holds the field `bytes`, the memory of the program.
  plan::CostPrices prices() const;
  plan::CostTable costs() const;  ///< Returns one row for each kind of work: the mean of its lines.
};

/// Returns a table with one line a call, then the totals of a step and of a prediction. `lines` must not be empty.
std::string plan_text(const TimedPlan& plan);
/// Returns the plan as one JSON object: `lines` (a call each), the totals `step` and `predict`, and v, batch, lanes,
/// bytes, peak_gflops, level, gb_per_second, step_us, samples. `lines` of `plan` must not be empty.
nlohmann::json plan_json(const TimedPlan& plan);

/// Returns, as text, the stages of a trial's step (run.pipeline), with Gantt charts of the simulated and the measured
/// step. If the step was timed in another trial than `trial`, the text names it.
std::string timed_step_text(const study::TrialStep& step, TrialId trial);
/// Returns the timed step as one JSON object: the keys of pipeline::timed_step_json, and trial, simulated_seconds,
/// measured_seconds, ratio, stage_ratios.
nlohmann::json timed_step_json(const study::TrialStep& step);

/// Prints the program of a trial ("DIR#N"; "DIR" for the best one) and measures it for less than a second. The measured
/// times are appended to the study's log, except for calls that have enough samples there. If another process writes to
/// the log, a message on stderr states that they are not stored. Returns the exit code.
int show_plan(const std::string& target, bool as_json);

}  // namespace lanista::cli
