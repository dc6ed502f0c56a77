#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "lanista/base/result.h"
#include "lanista/exec/backends/cuda_blocks/block_memory_pool.h"
#include "lanista/exec/backends/cuda_blocks/device/types.inc.h"
#include "lanista/exec/backends/cuda_blocks/launch_batcher.h"

namespace lanista::device {

/// Device interface of the block backend: memory, copies and launches.
///
/// Copies run in order, and so do launches. A launch starts after all copies that were begun before it. A caller must
/// wait for a launch before it copies results of that launch. A failure throws std::runtime_error with the name of the
/// call; out of memory throws std::bad_alloc. Thread-safe.
class BlockDevice {
 public:
  /// `idle` limits the free memory that the pool keeps.
  explicit BlockDevice(BlockMemoryPool::Limits idle = {}) : memory_pool_(idle) {}
  virtual ~BlockDevice() = default;
  /// Allocates uninitialised memory. Launches may also write to staging memory.
  virtual std::byte* allocate(MemoryKind kind, std::int64_t bytes) = 0;
  /// Frees memory of `allocate`.
  virtual void release(MemoryKind kind, std::byte* memory) noexcept = 0;
  /// Begins a copy between device, staging and host memory.
  ///
  /// Ordinary host memory may change once this returns. Staging memory must not change until the copy is done.
  virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
  /// Begins the steps of these lanes, with one block or one team of blocks per lane.
  virtual void launch(std::span<const block::Lane> lanes) = 0;
  /// Waits for all copies and launches.
  virtual void wait() = 0;
  /// Waits for all copies. It does not wait for a running launch if the device can avoid that.
  virtual void wait_for_copies() { wait(); }
  /// Combines launches of several threads.
  LaunchBatcher& launch_batcher() { return launch_batcher_; }
  /// Pool of free memory.
  BlockMemoryPool& memory_pool() { return memory_pool_; }

 private:
  LaunchBatcher launch_batcher_;
  BlockMemoryPool memory_pool_;
};

/// The host as a device, which runs one lane after another with the text of the kernel. For tests.
BlockDevice& host_block_device();

/// The CUDA device by name: "0", or "0/512x2" with 512 threads per block and 2 blocks per lane.
///
/// Errors: kUnavailable; the message names the library, device or function that is missing.
Result<BlockDevice*> cuda_block_device(std::string_view name);

/// Source text of the whole kernel.
std::string_view block_text();

/// Compiles the kernel for sm_<architecture> and returns the cubin. Cache, `log` and errors are those of
/// `compile_cuda`.
Result<std::string> compile_block(int architecture, std::string* log = nullptr);

/// Owner of uninitialised device or staging memory. The destructor returns the memory to the pool of the device.
class BlockMemory {
 public:
  /// No memory.
  BlockMemory() = default;
  /// Takes at least `bytes` bytes from the pool of `device`. Throws what `BlockDevice::allocate` throws.
  BlockMemory(BlockDevice& device, MemoryKind kind, std::int64_t bytes)
      : device_(&device), kind_(kind), allocation_(device.memory_pool().take(device, kind, bytes)) {}
  BlockMemory(BlockMemory&& other) noexcept
      : device_(other.device_), kind_(other.kind_), allocation_(std::exchange(other.allocation_, {})) {}
  BlockMemory& operator=(BlockMemory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(kind_, other.kind_);
    std::swap(allocation_, other.allocation_);
    return *this;
  }
  ~BlockMemory() {
    if (allocation_.at != nullptr) device_->memory_pool().release_to_pool(*device_, kind_, allocation_);
  }
  /// Whether the object owns memory.
  explicit operator bool() const { return allocation_.at != nullptr; }
  /// Address at an offset in bytes.
  std::byte* at(std::int64_t byte = 0) const { return allocation_.at + byte; }
  /// Size in bytes; it may exceed the requested size.
  std::int64_t bytes() const { return allocation_.bytes; }

 private:
  BlockDevice* device_ = nullptr;
  MemoryKind kind_ = MemoryKind::kDevice;
  BlockMemoryPool::Allocation allocation_;
};

}  // namespace lanista::device
