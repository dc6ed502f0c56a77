#include "lanista/runtime/group_pool.h"

#include <algorithm>

namespace lanista::runtime {

Result<train::LaneGroup> GroupPool::take(const Digest& key, const train::TrainerInput& like) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(waiting_, [&](const auto& entry) { return entry.first == key; });
    if (found != waiting_.end()) {
      train::LaneGroup group = std::move(found->second);
      waiting_.erase(found);
      return group;
    }
  }
  return train::LaneGroup::create(like, lanes_);
}

void GroupPool::give_back(const Digest& key, train::LaneGroup group) {
  const std::lock_guard lock(mutex_);
  waiting_.emplace_front(key, std::move(group));
  if (waiting_.size() > most_) waiting_.pop_back();
}

void GroupPool::clear() {
  const std::lock_guard lock(mutex_);
  waiting_.clear();
}

}  // namespace lanista::runtime
