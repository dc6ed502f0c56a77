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

/// Groups that wait for trials, so that a lane freed by one trial is taken by the next without a new program. Those not
/// used for longest go first. Thread-safe.
///
/// With a group wait the runs that sit in it, whoever works on them next. One rule keeps that safe: **a seat is touched
/// by the worker that has taken its group, or under the lock of the pool where the group waits.** So
/// - take() gives those runs' own group, if it waits: the one where most of them sit. Others of them leave their seats
///   in other groups, and strangers leave theirs in this one: a group that is out has only its taker's runs seated,
///   and no run that somebody works on sits in a group that waits.
/// - give_back() is the taker's last touch of those runs: from here on the pool may send them home at any time.
/// - Whoever has a run and no group of it (it is to be saved, parked, dropped) calls evict_state() first.
/// A state therefore stays in its machine for all epochs that it is trained in one company, by whichever workers.
class GroupPool {
 public:
  /// Groups are made with `lanes` lanes; at most `max_waiting` of them wait.
  GroupPool(std::int64_t lanes, std::size_t max_waiting) : lanes_(lanes), max_waiting_(max_waiting) {}

  /// A waiting group of the key, or a new one for trials like this; `runs` are to be trained there, as far as they have
  /// begun. Errors: as of LaneGroup::create.
  Result<train::LaneGroup> take(const Digest& key, const train::TrainerInput& like,
                                std::span<train::TrialRun* const> runs);
  void give_back(const Digest& key, train::LaneGroup group);
  /// Lets go of all that wait; whoever sits there goes home.
  void clear();
  /// A run leaves its seat, if it has one: in a group that waits, or that the caller has taken.
  void evict_state(train::TrialRun& run);

 private:
  std::optional<train::LaneGroup> take_waiting(const Digest& key, std::span<train::TrialRun* const> runs);

  std::int64_t lanes_;
  std::size_t max_waiting_;
  std::mutex mutex_;
  std::list<std::pair<Digest, train::LaneGroup>> waiting_;  // latest first
};

}  // namespace lanista::runtime
