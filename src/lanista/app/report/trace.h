#pragma once

#include <cstddef>
#include <string>

#include "lanista/search/study/study_view.h"

namespace lanista::report {

/// Settings of the export as a trace.
struct TraceOptions {
  std::size_t events = 1'000'000;  ///< most events; viewers fail with more
};

/// The work on a study as a Chrome trace in JSON (for chrome://tracing and Perfetto). A process is a device, a thread
/// is a worker, a span is an epoch of a trial, and a gap is idle time. Counters show the number of trials under way and
/// the best value of the first goal. An arrow leads from the last epoch of a trial to the first epoch of its child.
/// Times are worked microseconds of the study.
///
/// Spans of a worker do not overlap: a span starts at the earliest at the end of the one before. With too many events
/// the arrows are left out first, then the counters, then the latest spans. "otherData" has the numbers of what is left
/// out.
std::string chrome_trace(const study::StudyView& view, const TraceOptions& options = {});

}  // namespace lanista::report
