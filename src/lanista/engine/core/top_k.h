#pragma once

#include <cstddef>
#include <vector>

#include "lanista/search/study/study_view.h"

namespace lanista::engine {

/// The best finished trials, at most `size` of them. A new trial is compared with these only.
class TopK {
 public:
  explicit TopK(std::size_t size) : size_(size) {}
  /// Whether a trial with this ranking key would be among the best.
  bool would_admit(const study::RankingKey& standing) const;
  /// Adds a trial. Returns the trials that are no longer among the best, which may include the new one.
  std::vector<TrialId> add(const study::RankingKey& standing);
  /// The best trials, best first.
  const std::vector<study::RankingKey>& best() const { return best_; }

 private:
  std::size_t size_;
  std::vector<study::RankingKey> best_;  ///< Sorted.
};

}  // namespace lanista::engine
