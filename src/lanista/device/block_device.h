#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "lanista/base/result.h"
#include "lanista/device/block/types.inc.h"
#include "lanista/device/block_company.h"

namespace lanista::device {

enum class Memory : std::uint8_t { kDevice, kStaging };

/// Where blocks run: memory, copies and launches, one after the other. What goes wrong throws std::runtime_error,
/// naming the call; for lack of memory std::bad_alloc. Thread-safe.
class BlockDevice {
 public:
  virtual ~BlockDevice() = default;
  virtual std::byte* allocate(Memory kind, std::int64_t bytes) = 0;
  virtual void release(Memory kind, std::byte* memory) noexcept = 0;
  /// Begins a copy between any two memories, the host's included; a host's own memory may change once this returns.
  virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
  /// Begins the steps of all these lanes, a block or a team of blocks each.
  virtual void launch(std::span<const block::Lane> lanes) = 0;
  /// Until everything that was begun is done.
  virtual void wait() = 0;
  /// Who launches with whom.
  BlockCompany& company() { return company_; }

 private:
  BlockCompany company_;
};

/// The host, a lane after the other. It runs what a device runs, for proofs.
BlockDevice& host_blocks();

/// The CUDA device of that name: "0", or "0/512x2" with the threads of a block and the blocks of a team. Errors:
/// kUnavailable, naming the library, device or entry that is missing.
Result<BlockDevice*> cuda_blocks(std::string_view name);

/// The text of the kernel, whole.
std::string_view block_text();

/// The text compiled by NVRTC for sm_<architecture>, which needs no device: from the cache (LANISTA_BLOCK_CACHE, or the
/// user's) where it was compiled before, but anew where `log` wants what the compiler says of registers. Errors:
/// kUnavailable (no NVRTC, or the text does not compile).
Result<std::string> compile_block(int architecture, std::string* log = nullptr);

/// Memory of a device that goes with its owner.
class BlockMemory {
 public:
  BlockMemory() = default;
  BlockMemory(BlockDevice& device, Memory kind, std::int64_t bytes)
      : device_(&device), kind_(kind), at_(device.allocate(kind, bytes)) {}
  BlockMemory(BlockMemory&& other) noexcept
      : device_(other.device_), kind_(other.kind_), at_(std::exchange(other.at_, nullptr)) {}
  BlockMemory& operator=(BlockMemory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(kind_, other.kind_);
    std::swap(at_, other.at_);
    return *this;
  }
  ~BlockMemory() {
    if (at_ != nullptr) device_->release(kind_, at_);
  }
  std::byte* at(std::int64_t byte = 0) const { return at_ + byte; }

 private:
  BlockDevice* device_ = nullptr;
  Memory kind_ = Memory::kDevice;
  std::byte* at_ = nullptr;
};

}  // namespace lanista::device
