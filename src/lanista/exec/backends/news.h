#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace lanista::device {

/// What programs of a device have found that a study should know (nn::Backend::take_news). Thread-safe.
class News {
 public:
  /// A sentence that was told before is not told again, as long as the process lives.
  void tell(std::string sentence) {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(known_, sentence) != known_.end()) return;
    known_.push_back(std::move(sentence));
  }
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    const auto first = known_.begin() + static_cast<std::ptrdiff_t>(std::exchange(taken_, known_.size()));
    return {first, known_.end()};
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> known_;
  std::size_t taken_ = 0;  // so many of them
};

}  // namespace lanista::device
