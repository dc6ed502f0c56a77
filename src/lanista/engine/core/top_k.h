#pragma once

#include <cstddef>
#include <vector>

#include "lanista/search/study/study_view.h"

namespace lanista::engine {

/// The best few finished trials, so that no trial costs a look at all others.
class TopK {
 public:
  explicit TopK(std::size_t size) : size_(size) {}
  /// Whether a trial with this standing would be among the best.
  bool would_admit(const study::RankingKey& standing) const;
  /// Puts the trial in its place; gives the trials that are no longer among the best (itself, perhaps).
  std::vector<TrialId> add(const study::RankingKey& standing);
  const std::vector<study::RankingKey>& best() const { return best_; }

 private:
  std::size_t size_;
  std::vector<study::RankingKey> best_;  ///< sorted
};

}  // namespace lanista::engine
