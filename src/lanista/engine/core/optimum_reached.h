#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "lanista/search/study/study_view.h"

namespace lanista::engine {

/// Finds trials that no other trial can beat: one of their epochs meets all constraints and has the best possible value
/// of every goal (study::best_possible). Of these trials, the one with the fewest parameters, and then the lowest id,
/// wins the study.
///
/// This requires that results are those of the best epoch, that ties go to the earlier trial, and that the trial does
/// not fail. Without a rung rule (study::has_rung_rule) it finds none. A fold over events, O(log n) for each. Not
/// thread-safe.
class OptimumReached {
 public:
  /// Adds an event. `view` already includes it. Events must come in the order of the log.
  void observe(const study::StudyView& view, const study::Event& event);
  /// True if one of these trials ranks before `trial`, even if `trial` becomes one of them.
  bool any_before(const study::TrialView& trial) const;

 private:
  using Candidate = std::pair<std::int64_t, TrialId>;  ///< Parameter count and trial.
  std::set<Candidate> candidates_;
};

}  // namespace lanista::engine
