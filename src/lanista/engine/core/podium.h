#pragma once

#include <cstddef>
#include <vector>

#include "lanista/search/study/view.h"

namespace lanista::engine {

/// The best few finished trials, so that no trial costs a look at all others.
class Podium {
 public:
  explicit Podium(std::size_t size) : size_(size) {}
  /// Whether a trial with this standing would be among the best.
  bool admits(const study::Standing& standing) const;
  /// Puts the trial in its place; gives the trials that are no longer among the best (itself, perhaps).
  std::vector<TrialId> add(const study::Standing& standing);
  const std::vector<study::Standing>& best() const { return best_; }

 private:
  std::size_t size_;
  std::vector<study::Standing> best_;  ///< sorted
};

}  // namespace lanista::engine
