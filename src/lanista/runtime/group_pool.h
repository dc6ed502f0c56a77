#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <utility>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/train/lane_group.h"

namespace lanista::runtime {

/// Groups that wait for trials, so that a lane freed by one trial is taken by the next without a new program. Those not
/// used for longest go first. Thread-safe.
class GroupPool {
 public:
  /// Groups are made with `lanes` lanes; at most `most` of them wait.
  GroupPool(std::int64_t lanes, std::size_t most) : lanes_(lanes), most_(most) {}

  /// A waiting group of the key, or a new one for trials like this. Errors: as of LaneGroup::create.
  Result<train::LaneGroup> take(const Digest& key, const train::TrainerInput& like);
  void give_back(const Digest& key, train::LaneGroup group);
  /// Lets go of all that wait.
  void clear();

 private:
  std::int64_t lanes_;
  std::size_t most_;
  std::mutex mutex_;
  std::list<std::pair<Digest, train::LaneGroup>> waiting_;  // latest first
};

}  // namespace lanista::runtime
