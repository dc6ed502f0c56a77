#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "lanista/search/study/study_view.h"

namespace lanista::engine {

/// Trials that nothing can be better than: an epoch of theirs kept to all constraints and had the best value that there
/// is of every goal (study::best_possible). Of them the one with the fewest parameters, and of these the first, is the
/// study's winner, as long as what a trial stands for is its best epoch, ties go to the earlier, and it does not fail.
/// A fold over events. O(log n).
class OptimumReached {
 public:
  /// `view` has the event in it.
  void observe(const study::StudyView& view, const study::Event& event);
  /// Whether one of them goes before a trial that might become one.
  bool any_before(const study::TrialView& trial) const;

 private:
  using Candidate = std::pair<std::int64_t, TrialId>;  ///< parameters
  std::set<Candidate> candidates_;
};

}  // namespace lanista::engine
