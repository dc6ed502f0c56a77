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

/// The least time in which a study's workers could have trained what was trained, from the times that it took. Measured
/// is what every trial had of its worker (study::WorkerInterval). Assumed is that all trials could have begun at once
/// and gone to their end, that a trial costs by itself what it cost as one of several lanes, and of trials in studies
/// with run.width that more workers gain them: what steps with and without helpers took of themselves, or else the
/// median of the trials that tell; where none does, that n workers need an n-th. Trials that no helper ever came to
/// gain nothing where train.shards leaves nothing to share.
struct MakespanBound {
  schedule::Bounds bounds;
  std::int64_t workers = 0;
  std::int64_t trials = 0;          ///< that were worked on
  std::int64_t widest = 1;          ///< workers of one trial, at most
  std::int64_t gains_measured = 0;  ///< trials whose steps were timed with several numbers of workers
  double measured_seconds = 0;      ///< seconds from the first work to the last
  double seconds() const { return bounds.best(); }
  double gap() const;  ///< over the least time, as a part of it; 0 within rounding
};
/// O(n log n) in the spans, and what schedule::bounds_of takes.
MakespanBound makespan_bound(const study::StudyView& view);

/// "all work spread evenly 11 s, the longest trial 6 s" and the like, and what it stands on.
std::string bounds_text(const MakespanBound& bound);

/// What a worker did last of what the log tells; of a study under way that is what it does now, or did just before.
struct WorkerActivity {
  std::int64_t worker = 0;
  double busy = 0;  ///< part of the study's time so far
  std::vector<TrialId>
      trials;  ///< that it had in its last go and that are under way, and here; none: it waits for work
  std::int64_t lanes = 1, width = 1;
  std::optional<std::int64_t> leader = {};  ///< whom it helps
  std::string host = {};                    ///< where it is, or was at its last go; empty: nobody said
};
/// Returns what each worker does now or did last, with its busy share of the time so far, in the order of workers.
/// Empty if the study has ended. O(n log n) in the spans.
std::vector<WorkerActivity> worker_activities(const study::StudyView& view);
/// "worker 1 on node2, 87 % busy: #3 #5 #8 in turns"
std::string activity_text(const WorkerActivity& now);

}  // namespace lanista::report
