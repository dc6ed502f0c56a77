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
  schedule::Cluster cluster;        ///< The cluster.
  std::int64_t trials = 0;          ///< Number of trials.
  std::int64_t slots = 0;           ///< Trials that may be active at a time.
  schedule::ScheduleResult course;  ///< Schedule of the elastic scheduler.
  double fifo_seconds = 0;          ///< Seconds with one trial on each worker, in order.
  schedule::Bounds bounds;          ///< Lower bounds, as if all trials could start at once.
  std::int64_t resumptions = 0;     ///< Resumptions of trials that paused at a rung.
  std::int64_t ended_early = 0;     ///< Trials that ended early.
  std::string basis;                ///< Source of the trials' times, as text.
  /// (makespan - least time) / least time.
  double relative_gap() const;
};

/// Forecast from a log: its trials with the seconds that workers spent on each. Errors: kFailedPrecondition (no trial
/// was trained yet), those of schedule::simulate.
Result<Forecast> forecast_log(const study::StudyView& view, const ClusterFile& on);
/// How discarded steps of tune searches and start races are counted (study::ExtraSteps).
enum class ExtraStepsCount { kExpectedCount, kMaximum };
/// Forecast from a plan: the first proposals with predicted steps, each trained to its full budget. Trials that stop
/// early need less; forecast_study() simulates that.
Result<Forecast> forecast_plan(const StudyPlan& plan, std::int64_t slots, const ClusterFile& on,
                               ExtraStepsCount extra_steps_count = ExtraStepsCount::kExpectedCount);

/// Text with makespan, utilisation, bound and gap, and one line for each worker. A column of a line is a part of the
/// time.
std::string forecast_text(const Forecast& forecast);
/// One line with the time of the trials and its lower bound. `most` is the number of seconds with
/// ExtraStepsCount::kMaximum; 0: the same.
std::string forecast_time_text(const Forecast& forecast, double most = 0);
/// The forecast as JSON.
nlohmann::json forecast_json(const Forecast& forecast);

}  // namespace lanista::engine
