#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace lanista::device {

/// Warnings of a device's programs, as messages for the user of a study (`program::Backend::drain_warnings`).
/// Thread-safe.
class Warnings {
 public:
  /// Adds a message. A message that was added to this object before is ignored, also after drain().
  void add(std::string message) {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(seen_, message) != seen_.end()) return;
    seen_.push_back(std::move(message));
  }
  /// Returns the messages that were added since the last call, the oldest first; empty if there are none.
  std::vector<std::string> drain() {
    const std::lock_guard lock(mutex_);
    const auto first = seen_.begin() + static_cast<std::ptrdiff_t>(std::exchange(num_drained_, seen_.size()));
    return {first, seen_.end()};
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> seen_;
  std::size_t num_drained_ = 0;  // messages of seen_ that were returned
};

}  // namespace lanista::device
