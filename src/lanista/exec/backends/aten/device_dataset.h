#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "lanista/base/memory_budget.h"
#include "lanista/exec/backends/aten/aten.h"
#include "lanista/exec/program/chunk.h"

namespace lanista::device {

/// A table of samples where a device has it: a step that reads it is told rows.
struct DeviceDataset {
  at::Tensor features;  ///< [rows, …] of the steps' real type, or tokens as int64
  at::Tensor targets;   ///< the same, or labels as int64 [rows, positions]
  MemoryBudget::Reservation reservation;
};

/// Tables that programs of one device share, as long as one of them has it. Thread-safe.
class DeviceDatasetCache {
 public:
  /// Whose table, the type of its features and of its targets: programs may see the same numbers differently.
  using Key = std::tuple<const void*, int, int>;
  /// The table, made by `make` if nobody has it, one at a time; what `make` returns is ready to be read.
  template <class Make>
  std::shared_ptr<const DeviceDataset> get(const Key& key, const Make& make) {
    const std::lock_guard lock(mutex_);
    if (auto known = known_[key].lock()) return known;
    std::shared_ptr<const DeviceDataset> made = make();
    known_[key] = made;
    return made;
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<const DeviceDataset>> known_;
};

}  // namespace lanista::device
