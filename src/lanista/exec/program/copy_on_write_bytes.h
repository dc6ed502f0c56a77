#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "lanista/exec/program/aligned_bytes.h"

namespace lanista::program {

/// Bytes, aligned to kAlignment, that several owners share. An owner calls ensure_unique() before it writes, which
/// gives it a copy of shared bytes. A write without it changes the bytes of all owners.
///
/// Owners may live in different threads. Each owner is used by one thread at a time.
class CopyOnWriteBytes {
 public:
  CopyOnWriteBytes() = default;  ///< No bytes: data() is null.
  /// `size` zeroed bytes. Throws std::bad_alloc.
  explicit CopyOnWriteBytes(std::int64_t size) : block_(make(size)) {
    std::memset(data(), 0, static_cast<std::size_t>(align_up(size)));
  }
  CopyOnWriteBytes(CopyOnWriteBytes&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  CopyOnWriteBytes& operator=(CopyOnWriteBytes&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~CopyOnWriteBytes() {
    // The last owner sees all writes of the others.
    if (block_ != nullptr && block_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) free(block_);
  }

  /// Returns one more owner of the same bytes, without a copy.
  CopyOnWriteBytes share() const {
    CopyOnWriteBytes other;
    if (block_ != nullptr) block_->owners.fetch_add(1, std::memory_order_relaxed);
    other.block_ = block_;
    return other;
  }
  /// True if another owner shares the bytes; false without bytes.
  bool is_shared() const { return block_ != nullptr && block_->owners.load(std::memory_order_acquire) > 1; }
  /// Makes this value the sole owner: copies the bytes if they are shared. Call it before the first write. Throws
  /// std::bad_alloc; then nothing has changed.
  void ensure_unique() {
    if (!is_shared()) return;
    CopyOnWriteBytes own;
    own.block_ = make(block_->size);
    std::memcpy(own.data(), data(), static_cast<std::size_t>(align_up(block_->size)));
    std::swap(block_, own.block_);
  }
  /// The first of the bytes, which only a sole owner may write. Null if there are none.
  std::byte* data() const { return block_ == nullptr ? nullptr : reinterpret_cast<std::byte*>(block_) + kAlignment; }

 private:
  struct Block {
    std::atomic<std::int64_t> owners = 1;
    std::int64_t size = 0;
  };
  static_assert(sizeof(Block) <= kAlignment);
  static constexpr std::align_val_t kAlign{kAlignment};

  static Block* make(std::int64_t size) {
    auto* block = new (::operator new(static_cast<std::size_t>(kAlignment + align_up(size)), kAlign)) Block;
    block->size = size;
    return block;
  }
  static void free(Block* block) {
    block->~Block();
    ::operator delete(block, kAlign);
  }

  Block* block_ = nullptr;
};

}  // namespace lanista::program
