#include "lanista/engine/core/top_k.h"

#include <algorithm>

namespace lanista::engine {

bool TopK::would_admit(const study::RankingKey& standing) const {
  return best_.size() < size_ || (size_ > 0 && standing < best_.back());
}

std::vector<TrialId> TopK::add(const study::RankingKey& standing) {
  best_.insert(std::upper_bound(best_.begin(), best_.end(), standing), standing);
  std::vector<TrialId> out;
  while (best_.size() > size_) {
    out.push_back(best_.back().trial);
    best_.pop_back();
  }
  return out;
}

}  // namespace lanista::engine
