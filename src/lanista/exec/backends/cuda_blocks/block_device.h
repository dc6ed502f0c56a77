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

/// Where blocks run: memory, copies and launches. Copies are done one after the other, and so are launches; a launch
/// comes behind all copies that were begun before it, and who copies what a launch writes waits for it first. What goes
/// wrong throws std::runtime_error, naming the call; for lack of memory std::bad_alloc. Thread-safe.
class BlockDevice {
 public:
  /// So much memory waits for the next owner (BlockMemoryPool).
  explicit BlockDevice(BlockMemoryPool::Limits idle = {}) : memory_pool_(idle) {}
  virtual ~BlockDevice() = default;
  /// MemoryKind with anything in it; launches may write to staging, too.
  virtual std::byte* allocate(MemoryKind kind, std::int64_t bytes) = 0;
  virtual void release(MemoryKind kind, std::byte* memory) noexcept = 0;
  /// Begins a copy between any two memories, the host's included; a host's own memory, but staging, may change once
  /// this returns.
  virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
  /// Begins the steps of all these lanes, a block or a team of blocks each.
  virtual void launch(std::span<const block::Lane> lanes) = 0;
  /// Until everything that was begun is done.
  virtual void wait() = 0;
  /// Until all copies are that were begun; a launch under way is not waited for where that can be.
  virtual void wait_for_copies() { wait(); }
  /// Who launches with whom.
  LaunchBatcher& launch_batcher() { return launch_batcher_; }
  BlockMemoryPool& memory_pool() { return memory_pool_; }

 private:
  LaunchBatcher launch_batcher_;
  BlockMemoryPool memory_pool_;
};

/// The host, a lane after the other. It runs what a device runs, for proofs.
BlockDevice& host_block_device();

/// The CUDA device of that name: "0", or "0/512x2" with the threads of a block and the blocks of a team. Errors:
/// kUnavailable, naming the library, device or entry that is missing.
Result<BlockDevice*> cuda_block_device(std::string_view name);

/// The text of the kernel, whole.
std::string_view block_text();

/// The text compiled by NVRTC for sm_<architecture>, which needs no device: from the cache (LANISTA_BLOCK_CACHE, or the
/// user's) where it was compiled before, but anew where `log` wants what the compiler says of registers. Errors:
/// kUnavailable (no NVRTC, or the text does not compile).
Result<std::string> compile_block(int architecture, std::string* log = nullptr);

/// MemoryKind of a device that goes back to its store with its owner; there may be anything in it.
class BlockMemory {
 public:
  BlockMemory() = default;
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
  explicit operator bool() const { return allocation_.at != nullptr; }
  std::byte* at(std::int64_t byte = 0) const { return allocation_.at + byte; }
  std::int64_t bytes() const { return allocation_.bytes; }

 private:
  BlockDevice* device_ = nullptr;
  MemoryKind kind_ = MemoryKind::kDevice;
  BlockMemoryPool::Allocation allocation_;
};

}  // namespace lanista::device
