#pragma once

#include <memory>
#include <vector>

#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/exec/program/aligned_bytes.h"
#include "lanista/exec/program/lane_state.h"

namespace lanista::program {

/// Gradients of all parameters of one lane, and the new values of the buffers that a step renews.
///
/// A move-only value in program layout that owns its memory. Programs with one StateFormat read each other's gradients.
class LaneGradients {
 public:
  LaneGradients() = default;  ///< Empty: converts to false.
  /// Zeroed gradients. Errors: kResourceExhausted (`budget`, null for no limit, or the memory of the system).
  static Result<LaneGradients> make(std::shared_ptr<const StateFormat> state_format, MemoryBudget* budget);

  /// True if there is memory, false if this is empty.
  explicit operator bool() const { return state_format_ != nullptr; }
  /// The format of the states to which the gradients belong.
  const StateFormat& state_format() const { return *state_format_; }
  /// Returns copies of the gradients of all trained parameters, named like them, in the canonical order of
  /// LaneState::extract.
  std::vector<Tensor> extract() const;

  /// For programs: pointer to the flat gradients, in the layout of the parameters. T is the program's element type.
  template <class T>
  T* gradients() const {
    return reinterpret_cast<T*>(memory_.data());
  }
  /// For programs: pointer to the flat new buffer values, in the layout of the buffers. T is the program's element
  /// type.
  template <class T>
  T* new_buffers() const {
    return reinterpret_cast<T*>(memory_.data() + state_format_->part_offset(1));
  }

 private:
  std::shared_ptr<const StateFormat> state_format_;
  MemoryBudget::Reservation reservation_;
  AlignedBytes memory_;  // layout of the first two parts of a state
};

}  // namespace lanista::program
