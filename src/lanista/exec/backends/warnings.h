#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace lanista::device {

/// What programs of a device have found that a study should know (nn::Backend::drain_warnings). Thread-safe.
class Warnings {
 public:
  /// A sentence that was told before is not told again, as long as the process lives.
  void add(std::string message) {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(seen_, message) != seen_.end()) return;
    seen_.push_back(std::move(message));
  }
  std::vector<std::string> drain() {
    const std::lock_guard lock(mutex_);
    const auto first = seen_.begin() + static_cast<std::ptrdiff_t>(std::exchange(num_drained_, seen_.size()));
    return {first, seen_.end()};
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> seen_;
  std::size_t num_drained_ = 0;  // so many of them
};

}  // namespace lanista::device
