#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace lanista::device {

class BlockDevice;

/// Kind of memory of a block device.
enum class MemoryKind : std::uint8_t {
  kDevice,   ///< memory of the device
  kStaging,  ///< host memory that the device can access
};

/// Pool of a device's free memory. It saves driver calls, which would wait for all work of the device.
///
/// If the free memory exceeds its limit, the pool frees those allocations that were released first; one above the limit
/// it frees at once. If an allocation fails, the pool frees all its memory and tries once more. Thread-safe.
class BlockMemoryPool {
 public:
  /// Largest number of free bytes that a pool keeps, for each kind of memory.
  struct Limits {
    std::int64_t device = 0, staging = 0;  ///< bytes
  };
  /// A piece of memory that the caller owns.
  struct Allocation {
    std::byte* at = nullptr;  ///< address; null if there is none
    std::int64_t bytes = 0;   ///< size, at least the requested one
  };

  /// Makes an empty pool that keeps at most `most` free bytes.
  explicit BlockMemoryPool(Limits most) : limits_(most) {}

  /// Returns uninitialised memory of at least `bytes` bytes. It takes free memory of up to about twice that size, else
  /// new memory. Throws what BlockDevice::allocate throws.
  Allocation take(BlockDevice& device, MemoryKind kind, std::int64_t bytes);
  /// Gives memory of `take` back to the pool. Work of the device that still uses it must be ordered before any new
  /// work.
  void release_to_pool(BlockDevice& device, MemoryKind kind, Allocation memory) noexcept;
  /// Frees all memory that the pool keeps. The owner of the pool must call it before the pool is destroyed.
  void empty(BlockDevice& device) noexcept;
  /// Returns the number of free bytes of this kind in the pool.
  std::int64_t idle_bytes(MemoryKind kind) const;

 private:
  struct IdleAllocation {
    MemoryKind kind = MemoryKind::kDevice;
    Allocation memory;
  };
  std::int64_t limit(MemoryKind kind) const { return kind == MemoryKind::kDevice ? limits_.device : limits_.staging; }
  std::int64_t idle_locked(MemoryKind kind) const;

  const Limits limits_;
  mutable std::mutex mutex_;                      // guards the members below
  std::vector<IdleAllocation> idle_allocations_;  // in the order of release
};

}  // namespace lanista::device
