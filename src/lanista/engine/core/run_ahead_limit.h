#pragma once

#include <cstdint>
#include <map>

#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/trial.h"

namespace lanista::engine {

/// How far running trials may train ahead of their verdicts: through the epoch through which the strategy said that its
/// verdict stands. A strategy may name another epoch when it is asked later, so it is asked at the same moments of the
/// log whether a study goes on or comes back.
class RunAheadLimit {
 public:
  /// For every event, after the strategy has observed it.
  void observe(const study::Event& event, const strategy::Strategy& strategy);
  /// The epoch through which a running trial may train.
  std::int64_t allowed_epoch(TrialId trial) const { return running_.at(trial).epoch; }
  /// No decision was due at the trial's last measurement: its worker may be further on.
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
