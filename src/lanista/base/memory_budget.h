#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "lanista/base/result.h"

namespace lanista {

/// Bytes of tensor memory that all programs of a process may hold together. Linux would kill us instead of saying no,
/// so we say no ourselves, before allocating. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::int64_t bytes = std::numeric_limits<std::int64_t>::max()) : limit_(bytes) {}

  /// Holds bytes until destroyed. Movable.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(MemoryBudget* owner, std::int64_t bytes) : owner_(owner), bytes_(bytes) {}
    Reservation(Reservation&& other) noexcept;
    Reservation& operator=(Reservation&& other) noexcept;
    ~Reservation();

   private:
    MemoryBudget* owner_ = nullptr;
    std::int64_t bytes_ = 0;
  };

  /// Errors: kResourceExhausted with the bytes wanted, held and allowed.
  Result<Reservation> reserve(std::int64_t bytes);
  std::int64_t used() const { return used_; }
  std::int64_t limit() const { return limit_; }

 private:
  std::int64_t limit_;
  std::atomic<std::int64_t> used_ = 0;
};

}  // namespace lanista
