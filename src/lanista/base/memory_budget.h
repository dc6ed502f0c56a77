#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "lanista/base/result.h"

namespace lanista {

/// A limit in bytes for the tensor memory that all programs of a process hold together. Linux ends a process that uses
/// too much memory; a budget returns an error before the allocation instead. Thread-safe.
class MemoryBudget {
 public:
  /// A budget of `bytes`; by default without a limit.
  explicit MemoryBudget(std::int64_t bytes = std::numeric_limits<std::int64_t>::max()) : limit_(bytes) {}

  /// A number of bytes of a budget, held until this object is destroyed. Move-only. The budget must live longer.
  class Reservation {
   public:
    Reservation() = default;
    /// For reserve(): holds bytes that the budget counts already.
    Reservation(MemoryBudget* owner, std::int64_t bytes) : owner_(owner), bytes_(bytes) {}
    Reservation(Reservation&& other) noexcept;
    Reservation& operator=(Reservation&& other) noexcept;
    ~Reservation();

   private:
    MemoryBudget* owner_ = nullptr;
    std::int64_t bytes_ = 0;
  };

  /// Holds `bytes` of the budget; a negative number is a bug of the caller. Errors: kResourceExhausted with the bytes
  /// requested, held and allowed.
  Result<Reservation> reserve(std::int64_t bytes);
  std::int64_t used() const { return used_; }    ///< bytes that are held now
  std::int64_t limit() const { return limit_; }  ///< bytes that may be held together

 private:
  std::int64_t limit_;
  std::atomic<std::int64_t> used_ = 0;
};

}  // namespace lanista
