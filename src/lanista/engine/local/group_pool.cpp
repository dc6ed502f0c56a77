#include "lanista/engine/local/group_pool.h"

#include <algorithm>

namespace lanista::runtime {

Result<train::LaneGroup> GroupPool::take(const Digest& key, const train::TrainerInput& like,
                                         std::span<train::TrialRun* const> runs) {
  if (auto group = take_waiting(key, runs)) return *std::move(group);
  return train::LaneGroup::create(like, lanes_);
}

std::optional<train::LaneGroup> GroupPool::take_waiting(const Digest& key, std::span<train::TrialRun* const> runs) {
  const std::lock_guard lock(mutex_);
  auto best = waiting_.end();
  std::int64_t most_held = -1;
  for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
    if (it->first != key) continue;
    const auto num_in_lanes = std::ranges::count_if(runs, [&](const auto* run) { return it->second.holds(*run); });
    if (num_in_lanes > most_held) {
      most_held = num_in_lanes;
      best = it;
    }
  }
  std::optional<train::LaneGroup> group;
  if (best != waiting_.end()) {
    group = std::move(best->second);
    waiting_.erase(best);
    group->keep_only(runs);
  }
  for (train::TrialRun* run : runs) {
    if (!group || !group->holds(*run)) run->release_lane();
  }
  return group;
}

void GroupPool::give_back(const Digest& key, train::LaneGroup group) {
  const std::lock_guard lock(mutex_);
  waiting_.emplace_front(key, std::move(group));
  if (waiting_.size() > max_waiting_) waiting_.pop_back();
}

void GroupPool::clear() {
  const std::lock_guard lock(mutex_);
  waiting_.clear();
}

void GroupPool::evict_state(train::TrialRun& run) {
  const std::lock_guard lock(mutex_);
  run.release_lane();
}

}  // namespace lanista::runtime
