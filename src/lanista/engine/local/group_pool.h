#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/exec/train/lane_group.h"

namespace lanista::runtime {

/// Lane programs that wait for their next trials, so that a trial can use a free lane without compiling a program. If
/// too many wait, the least recently used ones are freed. Thread-safe.
///
/// The last states stay in the lanes of a waiting program. One rule keeps that safe: **a lane slot is accessed by the
/// worker that took its group, or under the lock of the pool in which the group waits.** Therefore:
/// - take() returns the waiting group that holds most of the given runs. The other runs leave their lanes in other
///   groups, and foreign runs leave their lanes in this group. A taken group holds only runs of its worker, and no run
///   in use is in a waiting group.
/// - give_back() is the worker's last access to these runs; the pool may then evict their states at any time.
/// - A worker with a run but without its group (to save, pause or drop it) calls evict_state() first.
///
/// A state thus stays in its program while the same trials train together, on any worker.
class GroupPool {
 public:
  /// An empty pool. New groups have `lanes` lanes; at most `max_waiting` groups wait.
  GroupPool(std::int64_t lanes, std::size_t max_waiting) : lanes_(lanes), max_waiting_(max_waiting) {}

  /// A waiting group with this program key, or a new one for trials like `like`. `runs` are the begun runs that will
  /// train in it. The caller owns the group until give_back(). Errors: those of LaneGroup::create (kInvalidArgument,
  /// kResourceExhausted, kUnimplemented).
  Result<train::LaneGroup> take(const Digest& key, const train::TrainerInput& like,
                                std::span<train::TrialRun* const> runs);
  /// Returns a group, which then waits under this program key.
  void give_back(const Digest& key, train::LaneGroup group);
  /// Frees all waiting groups. The states in their lanes are copied to host memory first, so no state is lost.
  void clear();
  /// Copies the state of a run out of its lane to host memory, if it is in one. The lane must be in a waiting group or
  /// in one that the caller took.
  void evict_state(train::TrialRun& run);

 private:
  std::optional<train::LaneGroup> take_waiting(const Digest& key, std::span<train::TrialRun* const> runs);

  std::int64_t lanes_;
  std::size_t max_waiting_;
  std::mutex mutex_;
  std::list<std::pair<Digest, train::LaneGroup>> waiting_;  // Most recently used first.
};

}  // namespace lanista::runtime
