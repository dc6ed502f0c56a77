#pragma once

#include <cstddef>
#include <vector>

#include "lanista/search/study/study_view.h"

namespace lanista::engine {

/// The best finished trials by ranking key, at most `size` of them. A new trial is compared with these only. Not
/// thread-safe.
class TopK {
 public:
  /// An empty list for at most `size` trials; with 0 it stays empty.
  explicit TopK(std::size_t size) : size_(size) {}
  /// True if a trial with this ranking key would be one of the best. Of equal keys the earlier trial stays.
  bool would_admit(const study::RankingKey& standing) const;
  /// Adds a trial. Returns the trials that are not among the best any more, which may be the new one; empty: none.
  std::vector<TrialId> add(const study::RankingKey& standing);
  /// The ranking keys of the best trials, best first.
  const std::vector<study::RankingKey>& best() const { return best_; }

 private:
  std::size_t size_;
  std::vector<study::RankingKey> best_;  ///< Sorted.
};

}  // namespace lanista::engine
