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
  /// Makes a device with an empty memory pool. `idle` limits the free memory that the pool keeps.
  explicit BlockDevice(BlockMemoryPool::Limits idle = {}) : memory_pool_(idle) {}
  virtual ~BlockDevice() = default;
  /// Returns the address of `bytes` bytes of uninitialised memory. Launches may also write to staging memory. Throws
  /// std::bad_alloc if there is too little memory.
  virtual std::byte* allocate(MemoryKind kind, std::int64_t bytes) = 0;
  /// Frees memory that `allocate` returned for the same kind.
  virtual void release(MemoryKind kind, std::byte* memory) noexcept = 0;
  /// Begins a copy of `bytes` bytes between device, staging and host memory.
  ///
  /// Ordinary host memory may change once this returns. Staging memory must not change until the copy is done.
  virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
  /// Begins to run the steps of these lanes, with one block or one team of blocks per lane.
  virtual void launch(std::span<const block::Lane> lanes) = 0;
  /// Waits until all copies and launches are done.
  virtual void wait() = 0;
  /// Waits until all copies are done. It does not wait for a running launch if the device can avoid that.
  virtual void wait_for_copies() { wait(); }
  /// Returns the object that combines launches of several threads on this device.
  LaunchBatcher& launch_batcher() { return launch_batcher_; }
  /// Returns the pool of this device's free memory.
  BlockMemoryPool& memory_pool() { return memory_pool_; }

 private:
  LaunchBatcher launch_batcher_;
  BlockMemoryPool memory_pool_;
};

/// Returns the host as a device, which runs one lane after another with the text of the kernel. For tests.
BlockDevice& host_block_device();

/// Returns the CUDA device with this name: "0", or "0/512x2" with 512 threads per block and 2 blocks per lane.
///
/// Errors: kUnavailable; the message names the library, device or function that is missing.
Result<BlockDevice*> cuda_block_device(std::string_view name);

/// Returns the CUDA source text of the whole kernel.
std::string_view block_text();

/// Returns the cubin of the kernel, compiled for sm_<architecture>. Cache, `log` and the error kUnavailable are those
/// of `compile_cuda`.
Result<std::string> compile_block(int architecture, std::string* log = nullptr);

/// Owner of uninitialised device or staging memory. The destructor returns the memory to the pool of the device.
class BlockMemory {
 public:
  /// Owns no memory.
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
  /// Returns true if the object owns memory.
  explicit operator bool() const { return allocation_.at != nullptr; }
  /// Returns the address `byte` bytes after the start of the memory. It is valid as long as the object owns the memory.
  std::byte* at(std::int64_t byte = 0) const { return allocation_.at + byte; }
  /// Returns the size in bytes, which may exceed the requested size; 0 if the object owns no memory.
  std::int64_t bytes() const { return allocation_.bytes; }

 private:
  BlockDevice* device_ = nullptr;
  MemoryKind kind_ = MemoryKind::kDevice;
  BlockMemoryPool::Allocation allocation_;
};

}  // namespace lanista::device
