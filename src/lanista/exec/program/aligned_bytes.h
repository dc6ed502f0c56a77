#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace lanista::program {

inline constexpr std::int64_t kAlignment = 64;  ///< A cache line, and the widest vector.
/// Returns the least multiple of kAlignment that is at least `bytes`.
inline std::int64_t align_up(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// A move-only block of bytes, zeroed at first, that begins at a multiple of kAlignment. Null if default-constructed or
/// moved from. The constructor throws std::bad_alloc if memory does not
/// suffice.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::int64_t size)
      : bytes_(static_cast<std::byte*>(::operator new(static_cast<std::size_t>(align_up(size)), kAlign))) {
    std::memset(bytes_.get(), 0, static_cast<std::size_t>(align_up(size)));
  }
  std::byte* data() const { return bytes_.get(); }

 private:
  static constexpr std::align_val_t kAlign{kAlignment};
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete(bytes, kAlign); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
};

}  // namespace lanista::program
