#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "lanista/engine/core/executor.h"
#include "lanista/search/study/study_view.h"

namespace lanista::engine {

/// Folds what is told of workers and of their work into what a view knows of them; the same for a running engine and
/// for whoever reads its log.
class WorkerHistoryBuilder {
 public:
  void add(const WorkerReport& report, study::WorkerHistory& history);
  /// The span, with where its worker was: trials that were lost with another go on there.
  study::Span with_host(study::Span span, study::WorkerHistory& history);

 private:
  /// The trial goes on with that worker, if it was lost with another.
  void record_move(TrialId trial, std::int64_t worker, const std::string& host, study::WorkerHistory& history);
  std::map<TrialId, std::size_t> open_moves_;  ///< trials that nobody has told of since: which of the moves it was
};

}  // namespace lanista::engine
