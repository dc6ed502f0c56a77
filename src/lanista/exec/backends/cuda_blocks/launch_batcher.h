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

/// Lanes of several threads' machines in one launch. A device has one launch under way; whoever comes meanwhile waits,
/// and all who wait are launched together next, lanes of whatever structures. Who was in a launch is expected to come
/// again at once: the next one waits for it, unless it has left, and no longer than the last one took. So machines that
/// go from chunk to chunk go in step, and who is alone waits for nobody. Thread-safe.
class LaunchBatcher {
 public:
  /// Does the steps of these lanes, `client` names whose they are; they are done when it returns. Throws what the
  /// device throws: of a launch that cannot be, only to those whose lanes cannot be launched without the others either.
  void run(BlockDevice& device, std::span<const block::Lane> lanes, const void* client);
  /// It does something else now, and is not waited for.
  void leave(const void* client);
  /// Those who are expected are waited for so long, and not as long as the last launch took. For tests.
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

  std::mutex mutex_;  // guards all that follows, and the parts that wait
  std::condition_variable changed_;
  bool is_launching_ = false;
  std::vector<LaunchRequest*> waiting_;
  std::set<const void*> expected_clients_;  // of the last launch, not come again
  Time::time_point wait_deadline_ = {};     // when they are not expected any more
  std::chrono::nanoseconds max_wait_ = {};  // 0: as the last launch took
};

}  // namespace lanista::device
