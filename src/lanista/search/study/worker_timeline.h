#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lanista/search/study/study_view.h"

namespace lanista::study {

/// Work of one worker without a break: an epoch of one trial, or of several trials that shared its steps, or help with
/// an epoch of another worker.
struct WorkerInterval {
  /// The part of an interval that belongs to one trial.
  struct TimeSlice {
    std::size_t span = 0;  ///< Index into StudyView::spans.
    /// Share of the interval's seconds; at each time, trials that have not finished their epoch have equal shares.
    double seconds = 0;
  };
  std::int64_t worker = 0;        ///< Number of the worker.
  double began = 0, ended = 0;    ///< Start and end, in worked seconds of the study.
  std::vector<TimeSlice> slices;  ///< By rising trial number; a helper has the slices of its leader.
  std::int64_t lanes = 1;  ///< Trials that shared the steps, as spans record; more than slices if the log lacks some.
  std::int64_t width = 1;  ///< Number of workers that began the interval together.
  std::optional<std::int64_t> leader = {};  ///< Worker that this worker helped; absent: it led.
  /// Returns the length of the interval in seconds.
  double seconds() const { return ended - began; }
};

/// Returns the intervals of each worker: workers by rising number, intervals by rising time.
///
/// Spans of trials that shared their steps are slices of one interval. They are recorded one after the other: the k-th
/// begins k times its length after the interval, and its length is the time to the end of that trial, divided by
/// `lanes`. If one of them is missing in the log, each of the others is an interval by itself.
///
/// Helpers record no spans. The width of an interval gives their number. As helpers count the workers with the least
/// work during the interval, the lower number first; none of them may have been busy for more than half of it. With two
/// workers this is exact. Known workers are those with spans, those that are present as processes, and as many more as
/// the largest width needs. O(n log n) for n spans; for intervals of several workers, times the number of workers.
std::vector<WorkerInterval> worker_timeline(const StudyView& view);

}  // namespace lanista::study
