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

/// A data set in device memory. A step that reads it receives row numbers instead of samples.
struct DeviceDataset {
  at::Tensor features;                    ///< [rows, …] of the steps' real type, or tokens as int64
  at::Tensor targets;                     ///< [rows, …] of the steps' real type, or labels as int64 [rows, positions]
  MemoryBudget::Reservation reservation;  ///< memory budget that the tensors use
};

/// Data sets that the programs of one device share. A data set is freed with its last user. Thread-safe.
class DeviceDatasetCache {
 public:
  /// Address of the host table, type of the features, type of the targets. Programs may read one table as several
  /// types.
  using Key = std::tuple<const void*, int, int>;
  /// Returns the data set of `key`. If no program uses one, it calls `make`, one thread at a time, and returns its
  /// result. A null result is not kept, so the next call makes it again.
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
