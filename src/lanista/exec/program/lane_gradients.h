#pragma once

#include <memory>
#include <vector>

#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/exec/program/aligned_bytes.h"
#include "lanista/exec/program/lane_state.h"

namespace lanista::nn {

/// Gradients of all parameters of a lane, and the new values of the buffers that a step renews.
///
/// A move-only value in program layout. Programs with one StateFormat read each other's gradients.
class LaneGradients {
 public:
  LaneGradients() = default;  ///< none
  /// Zeroed gradients. Errors: kResourceExhausted (`budget`, which may be null, or the system).
  static Result<LaneGradients> make(std::shared_ptr<const StateFormat> state_format, MemoryBudget* budget);

  explicit operator bool() const { return state_format_ != nullptr; }
  /// The layout, which is that of parameters and buffers.
  const StateFormat& state_format() const { return *state_format_; }
  /// The gradients by the names of their parameters, in the canonical order of LaneState::extract.
  std::vector<Tensor> extract() const;

  /// For programs: the flat gradients, in the program's element type.
  template <class T>
  T* gradients() const {
    return reinterpret_cast<T*>(memory_.data());
  }
  /// For programs: the flat new buffer values, in the program's element type.
  template <class T>
  T* new_buffers() const {
    return reinterpret_cast<T*>(memory_.data() + state_format_->part_offset(1));
  }

 private:
  std::shared_ptr<const StateFormat> state_format_;
  MemoryBudget::Reservation reservation_;
  AlignedBytes memory_;  // layout of the first two parts of a state
};

}  // namespace lanista::nn
