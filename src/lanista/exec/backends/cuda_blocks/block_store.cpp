#include "lanista/exec/backends/cuda_blocks/block_store.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "lanista/exec/backends/cuda_blocks/block_device.h"

namespace lanista::device {
namespace {

// Four sizes an octave: what one machine gives back fits the next that is about as large.
std::int64_t rounded(std::int64_t bytes) {
  const auto wanted = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1));
  const std::uint64_t step = std::max<std::uint64_t>(std::bit_ceil(wanted) / 8, 256);
  return static_cast<std::int64_t>((wanted + step - 1) / step * step);
}

}  // namespace

BlockStore::Taken BlockStore::take(BlockDevice& device, Memory kind, std::int64_t bytes) {
  const std::int64_t size = rounded(bytes);
  {
    const std::lock_guard lock(mutex_);
    auto best = idle_.end();
    for (auto it = idle_.begin(); it != idle_.end(); ++it) {
      const std::int64_t has = it->memory.bytes;
      if (it->kind != kind || has < size || has > 2 * size) continue;
      if (best == idle_.end() || has <= best->memory.bytes) best = it;
    }
    if (best != idle_.end()) {
      const Taken found = best->memory;
      idle_.erase(best);
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

void BlockStore::give(BlockDevice& device, Memory kind, Taken memory) noexcept {
  std::vector<Idle> goes;
  try {
    const std::lock_guard lock(mutex_);
    goes.reserve(idle_.size() + 1);
    if (memory.bytes > most(kind)) {
      goes.push_back({kind, memory});
    } else {
      std::int64_t held = idle_locked(kind) + memory.bytes;
      idle_.push_back({kind, memory});
      std::erase_if(idle_, [&](const Idle& each) {
        if (each.kind != kind || held <= most(kind)) return false;
        held -= each.memory.bytes;
        goes.push_back(each);
        return true;
      });
    }
  } catch (const std::bad_alloc&) {
    device.release(kind, memory.at);
  }
  for (const Idle& each : goes) device.release(each.kind, each.memory.at);
}

void BlockStore::empty(BlockDevice& device) noexcept {
  std::vector<Idle> goes;
  {
    const std::lock_guard lock(mutex_);
    goes.swap(idle_);
  }
  for (const Idle& each : goes) device.release(each.kind, each.memory.at);
}

std::int64_t BlockStore::idle_bytes(Memory kind) const {
  const std::lock_guard lock(mutex_);
  return idle_locked(kind);
}

std::int64_t BlockStore::idle_locked(Memory kind) const {
  std::int64_t bytes = 0;
  for (const Idle& each : idle_) bytes += each.kind == kind ? each.memory.bytes : 0;
  return bytes;
}

}  // namespace lanista::device
