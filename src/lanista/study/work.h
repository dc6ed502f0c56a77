#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lanista/study/view.h"

namespace lanista::study {

/// How a study's workers were used. Seconds are worked seconds of the study.
struct WorkerUse {
  std::map<std::int64_t, double> busy;  ///< seconds in which somebody worked there, of every worker that told of work
  double seconds = 0;                   ///< from the first work to the last
  double bound = 0;  ///< seconds that so many workers need at least: all work spread evenly, or the longest trial
  std::int64_t workers() const { return static_cast<std::int64_t>(busy.size()); }
  double busy_seconds() const;  ///< over all workers
  double utilisation() const { return seconds > 0 ? busy_seconds() / (seconds * static_cast<double>(workers())) : 0; }
  double gap() const { return bound > 0 ? seconds / bound - 1 : 0; }  ///< over the bound
};
/// O(n log n) in the spans. Trials that shared steps are each told the time of all, which counts once.
WorkerUse worker_use(const StudyView& view);

/// What an open trial that is not trained waits for.
enum class WaitsFor {
  kRung,      ///< whether its halving takes it further
  kStrategy,  ///< to be taken further, of a trial that no rung asked to rest
  kWorker     ///< that has not finished an epoch of it yet
};
struct Waiting {
  TrialId trial;
  WaitsFor what = WaitsFor::kWorker;
  std::string why;  ///< in a sentence
};
/// In the order of trials; none of a study that has ended. O(trials + spans).
std::vector<Waiting> waiting_trials(const StudyView& view);

/// "7 wait for their rung, 2 for a worker"; empty: nobody waits.
std::string waiting_text(const std::vector<Waiting>& waiting);

}  // namespace lanista::study
