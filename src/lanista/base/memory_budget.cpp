#include "lanista/base/memory_budget.h"

#include <string>
#include <utility>

namespace lanista {

MemoryBudget::Reservation::Reservation(Reservation&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

MemoryBudget::Reservation& MemoryBudget::Reservation::operator=(Reservation&& other) noexcept {
  if (this != &other) {
    if (owner_ != nullptr) owner_->used_ -= bytes_;
    owner_ = std::exchange(other.owner_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

MemoryBudget::Reservation::~Reservation() {
  if (owner_ != nullptr) owner_->used_ -= bytes_;
}

Result<MemoryBudget::Reservation> MemoryBudget::reserve(std::int64_t bytes) {
  LANISTA_CHECK(bytes >= 0, "a reservation of " + std::to_string(bytes) + " bytes");
  std::int64_t held = used_.load();
  do {
    if (bytes > limit_ - held) {
      return Error{.code = Code::kResourceExhausted,
                   .message = "tensor memory: " + std::to_string(bytes) + " bytes wanted, " + std::to_string(held) +
                              " of " + std::to_string(limit_) + " allowed bytes are held",
                   .where = {}};
    }
  } while (!used_.compare_exchange_weak(held, held + bytes));
  return Reservation(this, bytes);
}

}  // namespace lanista
