#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "lanista/search/study/study_view.h"

namespace lanista::engine {

/// Trials that no other trial can beat. One of their epochs meets all constraints and has the best possible value of
/// every goal (study::best_possible). Among them the trial with the fewest parameters, and then the lowest id, wins the
/// study. This requires that results are those of the best epoch, that ties go to the earlier trial, and that the trial
/// does not fail. A fold over events; O(log n) for each event.
class OptimumReached {
 public:
  /// Adds an event. `view` already includes it.
  void observe(const study::StudyView& view, const study::Event& event);
  /// Whether one of these trials ranks before `trial`, even if `trial` becomes one of them.
  bool any_before(const study::TrialView& trial) const;

 private:
  using Candidate = std::pair<std::int64_t, TrialId>;  ///< Parameter count and trial.
  std::set<Candidate> candidates_;
};

}  // namespace lanista::engine
