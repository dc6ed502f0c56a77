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

/// What a study would take on a cluster: simulated, trained by nobody.
struct Forecast {
  schedule::Cluster cluster;
  std::int64_t trials = 0;
  std::int64_t slots = 0;   ///< trials under way at a time
  schedule::ScheduleResult course;  ///< by our scheduler
  double fifo_seconds = 0;    ///< seconds with one trial a worker in their order
  schedule::Bounds bounds;  ///< of all trials, if all could begin at once
  std::int64_t resumptions = 0;  ///< of trials that had paused at a rung
  std::int64_t ended_early = 0;  ///< trials
  std::string basis;        ///< where the trials' times come from
  /// What the makespan is over the least time that is possible, as a part of that.
  double relative_gap() const;
};

/// The trials of a log with the seconds that workers spent on each, as many under way as the study has slots. Errors:
/// kFailedPrecondition if nothing was worked on yet; those of schedule::simulate.
Result<Forecast> forecast_log(const study::StudyView& view, const ClusterFile& on);
/// Which steps of searches and races that are given up count with those of the trials (study::ExtraSteps).
enum class ExtraStepsCount { kExpectedCount, kMaximum };
/// The first proposals of a study with predicted steps, each trained to its full budget: who stops early takes less
/// (simulated_study.h asks who does).
Result<Forecast> forecast_plan(const StudyPlan& plan, std::int64_t slots, const ClusterFile& on,
                               ExtraStepsCount extra_steps_count = ExtraStepsCount::kExpectedCount);

/// Makespan, utilisation, bound and gap; with a line a worker, of which a column is a part of the time.
std::string forecast_text(const Forecast& forecast);
/// The same in one line: what trials take, and what they take at least; `most`: seconds with ExtraStepsCount::kMaximum, 0: the
/// same.
std::string forecast_time_text(const Forecast& forecast, double most = 0);
nlohmann::json forecast_json(const Forecast& forecast);

}  // namespace lanista::engine
