#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace lanista::device {

class BlockDevice;

enum class MemoryKind : std::uint8_t { kDevice, kStaging };

/// MemoryKind of a device that nobody has at the moment, so that machines which come and go ask no driver, whose calls
/// for memory wait for everything that the device does. What was given back longest ago goes first where there is too
/// much of it, and all of it where an allocation fails, which is then tried once more. Thread-safe.
class BlockMemoryPool {
 public:
  /// Bytes that may wait for the next owner.
  struct Limits {
    std::int64_t device = 0, staging = 0;
  };
  struct Allocation {
    std::byte* at = nullptr;
    std::int64_t bytes = 0;  ///< at least those that were wanted
  };

  explicit BlockMemoryPool(Limits most) : limits_(most) {}

  /// MemoryKind with anything in it. Throws what BlockDevice::allocate throws.
  Allocation take(BlockDevice& device, MemoryKind kind, std::int64_t bytes);
  /// The device does nothing more with it but what comes in order before anything new.
  void release_to_pool(BlockDevice& device, MemoryKind kind, Allocation memory) noexcept;
  /// All that waits goes; whoever has a store with anything in it calls this before it goes itself.
  void empty(BlockDevice& device) noexcept;
  std::int64_t idle_bytes(MemoryKind kind) const;

 private:
  struct IdleAllocation {
    MemoryKind kind = MemoryKind::kDevice;
    Allocation memory;
  };
  std::int64_t limit(MemoryKind kind) const { return kind == MemoryKind::kDevice ? limits_.device : limits_.staging; }
  std::int64_t idle_locked(MemoryKind kind) const;

  const Limits limits_;
  mutable std::mutex mutex_;                      // guards what follows
  std::vector<IdleAllocation> idle_allocations_;  // given back longest ago first
};

}  // namespace lanista::device
