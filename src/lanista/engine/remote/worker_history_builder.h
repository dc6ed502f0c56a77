#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "lanista/engine/core/executor.h"
#include "lanista/search/study/study_view.h"

namespace lanista::engine {

/// Folds reports on workers, and spans, into the worker history of a study. A running engine and a reader of its log
/// both use it. Not thread-safe.
class WorkerHistoryBuilder {
 public:
  /// Adds the start or the loss of a worker to `history`.
  void add(const WorkerReport& report, study::WorkerHistory& history);
  /// Returns the span with the number of its worker's host, from 1 in `history.hosts`; 0: no host is known. If the
  /// worker is not present, the span's device counts as its host. If the trial was lost with a worker, `history`
  /// records its move to this one.
  study::Span with_host(study::Span span, study::WorkerHistory& history);

 private:
  /// Completes the open move of a trial, if it has one.
  void record_move(TrialId trial, std::int64_t worker, const std::string& host, study::WorkerHistory& history);
  std::map<TrialId, std::size_t> open_moves_;  ///< Index of the incomplete move, of trials that were lost.
};

}  // namespace lanista::engine
