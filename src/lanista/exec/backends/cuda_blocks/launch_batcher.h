#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "lanista/exec/backends/cuda_blocks/device/types.inc.h"

namespace lanista::device {

class BlockDevice;

/// Combines lanes that several threads want to run on one device into one launch.
///
/// A device runs one launch at a time. Requests that arrive meanwhile wait, and the next launch runs all of them; their
/// programs may differ. The clients of the last launch are expected to call again, so the next launch waits for them.
/// It waits at most as long as the last launch ran, and not for clients that have left. So clients that run chunk after
/// chunk share launches, and a single client never waits. Thread-safe.
class LaunchBatcher {
 public:
  /// Runs the steps of these lanes and returns when they are done. `client` is an address that identifies the caller in
  /// later calls.
  ///
  /// Throws what the device throws. If the device refuses a combined launch, each request is launched alone. Then only
  /// a request that is refused again fails.
  void run(BlockDevice& device, std::span<const block::Lane> lanes, const void* client);
  /// Removes a client from those that the next launch waits for. Does nothing for an unknown client.
  void leave(const void* client);
  /// Sets a fixed limit for the wait; 0 means the time of the last launch again. For tests.
  void set_max_wait(std::chrono::nanoseconds longest);

 private:
  using Time = std::chrono::steady_clock;
  struct LaunchRequest {
    std::span<const block::Lane> lanes;
    const void* client = nullptr;
    std::exception_ptr failure = {};
    bool done = false;
  };
  bool all_arrived() const { return expected_clients_.empty() || Time::now() >= wait_deadline_; }
  static void launch(BlockDevice& device, std::span<LaunchRequest* const> requests) noexcept;

  std::mutex mutex_;  // guards the members below, and the waiting requests
  std::condition_variable changed_;
  bool is_launching_ = false;
  std::vector<LaunchRequest*> waiting_;
  std::set<const void*> expected_clients_;  // clients of the last launch that have not called again
  Time::time_point wait_deadline_ = {};     // end of the wait for them
  std::chrono::nanoseconds max_wait_ = {};  // 0: the duration of the last launch
};

}  // namespace lanista::device
