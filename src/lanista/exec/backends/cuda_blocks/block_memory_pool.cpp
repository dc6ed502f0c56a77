#include "lanista/exec/backends/cuda_blocks/block_memory_pool.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "lanista/exec/backends/cuda_blocks/block_device.h"

namespace lanista::device {
namespace {

// Rounds up to four sizes per octave, so that freed memory fits the next request of similar size.
std::int64_t rounded(std::int64_t bytes) {
  const auto wanted = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1));
  const std::uint64_t step = std::max<std::uint64_t>(std::bit_ceil(wanted) / 8, 256);
  return static_cast<std::int64_t>((wanted + step - 1) / step * step);
}

}  // namespace

BlockMemoryPool::Allocation BlockMemoryPool::take(BlockDevice& device, MemoryKind kind, std::int64_t bytes) {
  const std::int64_t size = rounded(bytes);
  {
    const std::lock_guard lock(mutex_);
    auto best = idle_allocations_.end();
    for (auto it = idle_allocations_.begin(); it != idle_allocations_.end(); ++it) {
      const std::int64_t has = it->memory.bytes;
      if (it->kind != kind || has < size || has > 2 * size) continue;
      if (best == idle_allocations_.end() || has <= best->memory.bytes) best = it;
    }
    if (best != idle_allocations_.end()) {
      const Allocation found = best->memory;
      idle_allocations_.erase(best);
      return found;
    }
  }
  try {
    return {device.allocate(kind, size), size};
  } catch (const std::bad_alloc&) {
    empty(device);
    return {device.allocate(kind, size), size};
  }
}

void BlockMemoryPool::release_to_pool(BlockDevice& device, MemoryKind kind, Allocation memory) noexcept {
  std::vector<IdleAllocation> to_free;
  try {
    const std::lock_guard lock(mutex_);
    to_free.reserve(idle_allocations_.size() + 1);
    if (memory.bytes > limit(kind)) {
      to_free.push_back({kind, memory});
    } else {
      std::int64_t held = idle_locked(kind) + memory.bytes;
      idle_allocations_.push_back({kind, memory});
      std::erase_if(idle_allocations_, [&](const IdleAllocation& each) {
        if (each.kind != kind || held <= limit(kind)) return false;
        held -= each.memory.bytes;
        to_free.push_back(each);
        return true;
      });
    }
  } catch (const std::bad_alloc&) {
    device.release(kind, memory.at);
  }
  for (const IdleAllocation& each : to_free) device.release(each.kind, each.memory.at);
}

void BlockMemoryPool::empty(BlockDevice& device) noexcept {
  std::vector<IdleAllocation> to_free;
  {
    const std::lock_guard lock(mutex_);
    to_free.swap(idle_allocations_);
  }
  for (const IdleAllocation& each : to_free) device.release(each.kind, each.memory.at);
}

std::int64_t BlockMemoryPool::idle_bytes(MemoryKind kind) const {
  const std::lock_guard lock(mutex_);
  return idle_locked(kind);
}

std::int64_t BlockMemoryPool::idle_locked(MemoryKind kind) const {
  std::int64_t bytes = 0;
  for (const IdleAllocation& each : idle_allocations_) bytes += each.kind == kind ? each.memory.bytes : 0;
  return bytes;
}

}  // namespace lanista::device
