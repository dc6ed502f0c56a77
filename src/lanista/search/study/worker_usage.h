#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lanista/search/study/study_view.h"

namespace lanista::study {

/// How a study's workers were used. Seconds are worked seconds of the study.
struct WorkerUsage {
  std::map<std::int64_t, double>
      busy;  ///< seconds in which somebody worked there, of every worker that worked or helped
  std::map<std::size_t, double> busy_at = {};  ///< the same by host (Span::host), of what workers led
  double seconds = 0;                          ///< from the first work to the last
  std::int64_t workers() const { return static_cast<std::int64_t>(busy.size()); }
  double busy_seconds() const;  ///< over all workers
  double utilisation() const { return seconds > 0 ? busy_seconds() / (seconds * static_cast<double>(workers())) : 0; }
};
/// Of its goes (goes.h). Trials that shared steps share their time, which counts once; whoever helped was busy.
WorkerUsage worker_usage(const StudyView& view);

/// What the steps of a trial took with how many workers (run.width), of a trial that ever had more than one.
struct TrialWidths {
  TrialId trial;
  std::int64_t last = 1;                        ///< workers of its last epoch
  std::map<std::int64_t, double> step_seconds;  ///< medians by width, of epochs that say
};
/// In the order of trials. O(n log n) in the spans.
std::vector<TrialWidths> trial_widths(const StudyView& view);
/// "trial 3 by 2 workers (1.9 ms a step; 3.2 ms by 1)" of the trials under way, and how many others there were; empty:
/// none ever shared its steps.
std::string widths_text(const StudyView& view);

/// What an open trial that is not trained waits for.
enum class WaitReason {
  kRung,      ///< whether its halving takes it further
  kStrategy,  ///< to be taken further, of a trial that no rung asked to rest
  kWorker     ///< that has not finished an epoch of it yet
};
struct Waiting {
  TrialId trial;
  WaitReason what = WaitReason::kWorker;
  std::string why;  ///< in a sentence
};
/// In the order of trials; none of a study that has ended. O(trials + spans).
std::vector<Waiting> trials_waiting(const StudyView& view);

/// "7 wait for their rung, 2 for a worker"; empty: nobody waits.
std::string waiting_text(const std::vector<Waiting>& waiting);

}  // namespace lanista::study
