#include <cstring>
#include <new>

#include "lanista/exec/backends/cuda_blocks/block_device.h"
#include "lanista/exec/backends/cuda_blocks/block_on_host.h"
#include "lanista/exec/program/aligned_bytes.h"

namespace lanista::device {
namespace {

constexpr std::align_val_t kAlign{64};

constexpr BlockMemoryPool::Limits kIdle{.device = std::int64_t{64} << 20, .staging = std::int64_t{16} << 20};

class HostBlockDevice final : public BlockDevice {
 public:
  HostBlockDevice() : BlockDevice(kIdle) {}
  ~HostBlockDevice() override { memory_pool().empty(*this); }
  std::byte* allocate(MemoryKind, std::int64_t bytes) override {
    const auto size = static_cast<std::size_t>(program::align_up(bytes));
    return static_cast<std::byte*>(::operator new(size, kAlign));
  }
  void release(MemoryKind, std::byte* memory) noexcept override { ::operator delete(memory, kAlign); }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    if (to != from && bytes > 0) std::memmove(to, from, static_cast<std::size_t>(bytes));
  }
  void launch(std::span<const block::Lane> lanes) override {
    for (const block::Lane& lane : lanes) block::run_on_host(lane, nullptr);
  }
  void wait() override {}
};

}  // namespace

BlockDevice& host_block_device() {
  static HostBlockDevice device;
  return device;
}

}  // namespace lanista::device
