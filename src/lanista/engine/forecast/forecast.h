#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"
#include "lanista/engine/forecast/cluster_file.h"
#include "lanista/engine/forecast/study_plan.h"
#include "lanista/plan/elastic/bounds.h"
#include "lanista/plan/elastic/simulate.h"
#include "lanista/search/study/study_view.h"

namespace lanista::engine {

/// Predicted duration of a study on a cluster, by simulation without training.
struct Forecast {
  plan::Cluster cluster;         ///< The cluster on which the study is simulated.
  std::int64_t trials = 0;       ///< Number of simulated trials.
  std::int64_t slots = 0;        ///< Number of trials that may be active at a time.
  plan::ScheduleResult course;   ///< Schedule of the elastic scheduler, with times in seconds.
  double fifo_seconds = 0;       ///< Makespan in seconds if each worker trains one trial at a time, in order.
  plan::Bounds bounds;           ///< Lower bounds of the makespan in seconds, as if all trials could start at once.
  std::int64_t resumptions = 0;  ///< Number of resumptions of trials that paused at a rung.
  std::int64_t ended_early = 0;  ///< Number of trials that a rule stopped early.
  std::string basis;             ///< How the trials' times were found, as text for the user.
  /// The gap between makespan and least time, relative to the least time, at least 0: (makespan - least time) / least
  /// time. 0 if the least time is 0.
  double relative_gap() const;
};

/// Forecast from a log: its trials with the seconds that workers spent on each, on the cluster `on`. Memory is not
/// counted, and strategy.slots trials are active at a time. Errors:
/// kFailedPrecondition (no trial was trained yet), those of plan::simulate (kOutOfRange, kInvalidArgument,
/// kResourceExhausted, kFailedPrecondition).
Result<Forecast> forecast_log(const study::StudyView& view, const ClusterFile& on);
/// How discarded steps of tune searches are counted: their expected number, or the most that the rules
/// allow (study::ExtraSteps).
enum class ExtraStepsCount { kExpectedCount, kMaximum };
/// Forecast from a plan, on the cluster `on`: the first proposals with predicted steps, each trained to its full
/// budget, with `slots` active at a time. Trials that stop early need less time; forecast_study() simulates that.
/// Errors: those of plan::simulate (kOutOfRange, kInvalidArgument, kResourceExhausted, kFailedPrecondition).
Result<Forecast> forecast_plan(const StudyPlan& plan, std::int64_t slots, const ClusterFile& on,
                               ExtraStepsCount extra_steps_count = ExtraStepsCount::kExpectedCount);

/// Text for the user with makespan, utilisation, bound and gap, and one line for each of the first 64 workers. Each
/// line has 64 columns of equal time: a digit is the number of trials that share the worker, "=" a trial on several
/// workers, "." idle.
std::string forecast_text(const Forecast& forecast);
/// One line for the user with the makespan and its lower bound. If `most` is above 0, the line also has `most` as the
/// longest time: the makespan in seconds of a forecast with ExtraStepsCount::kMaximum.
std::string forecast_time_text(const Forecast& forecast, double most = 0);
/// The forecast as a JSON object with times in seconds. It has `trials`, `slots`, `workers`, `basis`, `makespan`,
/// `first_come`, `utilisation`, bounds, `gap`, `resizes` and more. `timeline` is an array of intervals with `trial`,
/// `workers`, `width`, `began` and `ended`.
nlohmann::json forecast_json(const Forecast& forecast);

}  // namespace lanista::engine
