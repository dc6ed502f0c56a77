#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lanista/search/study/study_view.h"

namespace lanista::study {

/// Use of the workers of a study. Seconds are worked seconds of the study.
struct WorkerUsage {
  /// Busy seconds of every worker that worked or helped, by worker number.
  std::map<std::int64_t, double> busy;
  std::map<std::size_t, double> busy_at = {};  ///< Busy seconds by host (Span::host), without those of helpers.
  double seconds = 0;                          ///< Seconds from the begin of the first work to the end of the last.
  /// Returns the number of workers that worked or helped.
  std::int64_t workers() const { return static_cast<std::int64_t>(busy.size()); }
  /// Returns the busy seconds of all workers together.
  double busy_seconds() const;
  /// Returns the busy share of the time of all workers, from 0 to 1.
  double utilisation() const { return seconds > 0 ? busy_seconds() / (seconds * static_cast<double>(workers())) : 0; }
};
/// Returns the use of the workers of a study, from worker_timeline. Time in which trials shared steps counts once.
/// Helpers count as busy.
WorkerUsage worker_usage(const StudyView& view);

/// Step times of one trial by width (run.width), for a trial that had several workers at some time.
struct TrialWidths {
  TrialId trial;                                ///< Trial that had several workers.
  std::int64_t last = 1;                        ///< Number of workers of its last span.
  std::map<std::int64_t, double> step_seconds;  ///< Median seconds of a step by width, over epochs that recorded it.
};
/// Returns the widths of trials that had several workers, by rising trial number. O(n log n) for n spans.
std::vector<TrialWidths> trial_widths(const StudyView& view);
/// Returns "trial 3 by 2 workers (1.9 ms a step; 3.2 ms by 1)" for the running trials, and the number of other trials
/// with several workers. Empty: no trial had several workers.
std::string widths_text(const StudyView& view);

/// What a trial that has not ended and is not training waits for.
enum class WaitReason {
  kRung,      ///< Promotion by its halving.
  kStrategy,  ///< Resumption by its strategy, for a trial that paused without a rung.
  kWorker     ///< A worker. None has finished an epoch of it yet, but one may be in its first epoch.
};
/// A waiting trial with the reason.
struct Waiting {
  TrialId trial;                          ///< Trial that waits.
  WaitReason what = WaitReason::kWorker;  ///< What the trial waits for.
  std::string why;                        ///< Reason as a sentence for people.
};
/// Returns the waiting trials by rising number. Empty for a study that has ended. O(trials + spans).
std::vector<Waiting> trials_waiting(const StudyView& view);

/// Returns "7 wait for their rung, 2 for a worker". Empty: no trial waits.
std::string waiting_text(const std::vector<Waiting>& waiting);

}  // namespace lanista::study
