#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "lanista/engine/core/executor.h"
#include "lanista/search/study/view.h"

namespace lanista::engine {

/// Folds what is told of workers and of their work into what a view knows of them; the same for a running engine and
/// for whoever reads its log.
class WorkerFold {
 public:
  void tell(const WorkerReport& told, study::WorkerFates& fates);
  /// The span, with where its worker was: trials that were lost with another go on there.
  study::Span placed(study::Span span, study::WorkerFates& fates);

 private:
  /// The trial goes on with that worker, if it was lost with another.
  void settle(TrialId trial, std::int64_t worker, const std::string& host, study::WorkerFates& fates);
  std::map<TrialId, std::size_t> lost_;  ///< trials that nobody has told of since: which of the moves it was
};

}  // namespace lanista::engine
