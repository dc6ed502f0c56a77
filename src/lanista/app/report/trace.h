#pragma once

#include <cstddef>
#include <string>

#include "lanista/search/study/study_view.h"

namespace lanista::report {

struct TraceOptions {
  std::size_t events = 1'000'000;  ///< at most so many; viewers give up on more
};

/// The work on a study as a Chrome trace (JSON; chrome://tracing, Perfetto): a process is a device, a thread a worker,
/// a span an epoch of a trial, a gap is idle time. Counters tell the trials under way and the best value so far of the
/// first goal; an arrow leads from a trial's last epoch to the first epoch of the trial made from it. Times are worked
/// microseconds of the study.
///
/// Spans of a worker do not overlap: one that begins before the last has ended begins with its end. If there are too
/// many events the arrows go first, then the counters, then the latest spans; "otherData" says how many of each.
std::string chrome_trace(const study::StudyView& view, const TraceOptions& options = {});

}  // namespace lanista::report
