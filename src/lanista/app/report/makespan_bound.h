#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanista/plan/elastic/bounds.h"
#include "lanista/search/study/study_view.h"
#include "lanista/search/study/worker_timeline.h"
#include "lanista/search/study/worker_usage.h"

namespace lanista::report {

/// A lower bound on the time in which a study's workers could have done its work, from measured times.
///
/// The bound uses the share of its worker that each trial had (study::WorkerInterval). It assumes that all trials could
/// have started at once. It assumes that a trial needs alone what it needed as one of several lanes. With run.width it
/// also needs the gain from more workers: measured from the trial's steps with and without helpers, or else the median
/// of the trials with a measurement, or else linear. A trial without helpers gains nothing if train.shards leaves no
/// shards to share.
struct MakespanBound {
  plan::Bounds bounds;              ///< Lower bounds, in seconds.
  std::int64_t workers = 0;         ///< Number of workers.
  std::int64_t trials = 0;          ///< Number of trials with work.
  std::int64_t widest = 1;          ///< Most workers that shared one trial.
  std::int64_t gains_measured = 0;  ///< Number of trials with steps that were timed at several widths.
  /// Seconds from the first work to the last. In a study that lost workers without `waited_seconds`.
  double measured_seconds = 0;
  /// Seconds between the first work and the last in which no worker worked, in a study that lost workers; else 0. They
  /// passed until other workers came, or were spent on work that was lost.
  double waited_seconds = 0;
  double seconds() const { return bounds.best(); }  ///< The largest lower bound, in seconds.
  double gap() const;  ///< (measured_seconds - seconds()) / seconds(); 0 within rounding, or without a bound.
};
/// Returns the bound of a study. O(n log n) in the spans, plus the time of plan::bounds_of.
MakespanBound makespan_bound(const study::StudyView& view);

/// Returns the bounds and their assumptions as text for people: "all work spread evenly 11 s, the longest trial 6 s".
std::string bounds_text(const MakespanBound& bound);

/// The last work of a worker in the log. In a running study it does this work now, or did it just before.
struct WorkerActivity {
  std::int64_t worker = 0;                  ///< Number of the worker.
  double busy = 0;                          ///< Busy share of the study's time so far, 0 to 1.
  std::vector<TrialId> trials;              ///< Running trials of its last interval; empty: the worker waits for work.
  std::int64_t lanes = 1;                   ///< Number of trials that share the worker.
  std::int64_t width = 1;                   ///< Number of workers that share the trial.
  std::optional<std::int64_t> leader = {};  ///< Number of the worker that it helps; absent: it helps none.
  std::string host = {};                    ///< Host in its last interval; empty: unknown.
};
/// Returns what each worker does now or did last, with its busy share of the time so far, in the order of workers.
/// Empty if the study has ended. O(n log n) in the spans.
std::vector<WorkerActivity> worker_activities(const study::StudyView& view);
/// Returns an activity as text for people: "worker 1 on node2, 87 % busy: #3 #5 #8 in turns".
std::string activity_text(const WorkerActivity& now);

}  // namespace lanista::report
