#pragma once

#include <memory>
#include <vector>

#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/exec/program/aligned_bytes.h"
#include "lanista/exec/program/lane_state.h"

namespace lanista::nn {

/// What stands between the samples of a step and its commit: gradients of all parameters, and new values of the
/// buffers that a step renews. A value that moves, in program layout; programs of one kind read each other's.
class LaneGradients {
 public:
  LaneGradients() = default;  ///< none
  /// Zeros. Errors: kResourceExhausted (`budget`, which may be null, or the system).
  static Result<LaneGradients> make(std::shared_ptr<const StateFormat> state_format, MemoryBudget* budget);

  explicit operator bool() const { return state_format_ != nullptr; }
  const StateFormat& state_format() const { return *state_format_; }
  /// The gradients by name of their parameter, in canonical order, as LaneState::extract gives those.
  std::vector<Tensor> extract() const;

  // For programs, in their element type.
  template <class T>
  T* gradients() const {
    return reinterpret_cast<T*>(memory_.data());
  }
  template <class T>
  T* new_buffers() const {
    return reinterpret_cast<T*>(memory_.data() + state_format_->part_offset(1));
  }

 private:
  std::shared_ptr<const StateFormat> state_format_;
  MemoryBudget::Reservation reservation_;
  AlignedBytes memory_;  // as the first two parts of a state
};

}  // namespace lanista::nn
