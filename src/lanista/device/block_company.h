#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <vector>

#include "lanista/device/block/types.inc.h"

namespace lanista::device {

class BlockDevice;

/// Lanes of several threads' machines in one launch. A device has one launch under way; whoever comes meanwhile waits,
/// and all who wait are launched together next, lanes of whatever structures. Nobody waits for company: on a free
/// device lanes go alone. Thread-safe.
class BlockCompany {
 public:
  /// Does the steps of these lanes; they are done when it returns. Throws what the device throws: of a launch that
  /// cannot be, only to those whose lanes cannot be launched without the others either.
  void run(BlockDevice& device, std::span<const block::Lane> lanes);

 private:
  struct Part {
    std::span<const block::Lane> lanes;
    std::exception_ptr failure = {};
    bool done = false;
  };
  static void launch(BlockDevice& device, std::span<Part* const> parts) noexcept;

  std::mutex mutex_;  // guards all that follows, and the parts that wait
  std::condition_variable changed_;
  bool busy_ = false;
  std::vector<Part*> waiting_;
};

}  // namespace lanista::device
