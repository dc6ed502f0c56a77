#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace lanista::device {

class BlockDevice;

enum class Memory : std::uint8_t { kDevice, kStaging };

/// Memory of a device that nobody has at the moment, so that machines which come and go ask no driver, whose calls for
/// memory wait for everything that the device does. What was given back longest ago goes first where there is too much
/// of it, and all of it where an allocation fails, which is then tried once more. Thread-safe.
class BlockStore {
 public:
  /// Bytes that may wait for the next owner.
  struct Most {
    std::int64_t device = 0, staging = 0;
  };
  struct Taken {
    std::byte* at = nullptr;
    std::int64_t bytes = 0;  ///< at least those that were wanted
  };

  explicit BlockStore(Most most) : most_(most) {}

  /// Memory with anything in it. Throws what BlockDevice::allocate throws.
  Taken take(BlockDevice& device, Memory kind, std::int64_t bytes);
  /// The device does nothing more with it but what comes in order before anything new.
  void give(BlockDevice& device, Memory kind, Taken memory) noexcept;
  /// All that waits goes; whoever has a store with anything in it calls this before it goes itself.
  void empty(BlockDevice& device) noexcept;
  std::int64_t idle_bytes(Memory kind) const;

 private:
  struct Idle {
    Memory kind = Memory::kDevice;
    Taken memory;
  };
  std::int64_t most(Memory kind) const { return kind == Memory::kDevice ? most_.device : most_.staging; }
  std::int64_t idle_locked(Memory kind) const;

  const Most most_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Idle> idle_;    // given back longest ago first
};

}  // namespace lanista::device
