#pragma once

#include <cstddef>
#include <string>

#include "lanista/search/study/study_view.h"

namespace lanista::report {

/// Settings of the export as a trace.
struct TraceOptions {
  std::size_t events = 1'000'000;  ///< Most events in the file; viewers fail with more.
};

/// Returns the work on a study as a Chrome trace in JSON, for chrome://tracing and Perfetto.
/// It has one process, "cpu", and a thread for each worker. A span is an epoch of a trial, and a gap is idle time.
/// Counters show the running trials and the best value of the first goal. An arrow leads to a trial's first epoch from
/// the last epoch of its parent that ended before. Times are worked microseconds of the study.
///
/// Spans of a worker do not overlap. With too many events the arrows are left out first, then the counters, then the
/// latest spans. "otherData" has study, v and `dropped`: the numbers of left out arrows, counters and spans.
std::string chrome_trace(const study::StudyView& view, const TraceOptions& options = {});

}  // namespace lanista::report
