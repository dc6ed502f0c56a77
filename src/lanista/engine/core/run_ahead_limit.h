#pragma once

#include <cstdint>
#include <map>

#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/trial.h"

namespace lanista::engine {

/// Decides how far running trials may train before their next verdict: through the epoch up to which the strategy's
/// last verdict is valid. A later call could return another epoch, so the strategy is called at the same log positions
/// in a new and in a resumed study. Not thread-safe.
class RunAheadLimit {
 public:
  /// Adds an event, after the strategy has observed it.
  void observe(const study::Event& event, const search::Strategy& strategy);
  /// The last epoch that a running trial may train, at most its budget. The trial must be running.
  std::int64_t allowed_epoch(TrialId trial) const { return running_.at(trial).epoch; }
  /// True if no verdict was due at the trial's last measurement, so that its worker may already have trained later
  /// epochs, and the state of this epoch may be gone. False before the first measurement. The trial must be running.
  bool ran_ahead(TrialId trial) const { return running_.at(trial).has_no_verdict_due; }

 private:
  struct Running {
    std::int64_t budget = 0;
    std::int64_t epoch = 0;
    bool has_no_verdict_due = false;
  };
  std::map<TrialId, Running> running_;
};

}  // namespace lanista::engine
