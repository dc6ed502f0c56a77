#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/exec/program/copy_on_write_bytes.h"
#include "lanista/exec/program/state_layout.h"

namespace lanista::nn {

/// The layout that all lane states of a program share: offsets of parameters, buffers and optimiser slots.
class StateFormat {
 public:
  /// `element_size` is sizeof(float) or sizeof(double).
  StateFormat(StateLayout layout, std::size_t element_size);

  const StateLayout& layout() const { return layout_; }
  bool is_double() const { return element_size_ == sizeof(double); }
  std::int64_t bytes() const { return part_offset_.back(); }     ///< bytes of one state
  std::int64_t weight_bytes() const { return part_offset_[2]; }  ///< bytes of its parameters and buffers
  /// Offset in bytes of a part: 0 parameters, 1 buffers, 2 and up the optimiser slots.
  std::int64_t part_offset(std::size_t part) const { return part_offset_[part]; }
  /// Equal for programs that accept each other's states.
  const Digest& digest() const { return digest_; }

 private:
  StateLayout layout_;
  std::size_t element_size_;
  std::vector<std::int64_t> part_offset_;  // bytes; the last entry is the total
  Digest digest_;
};

/// The state of one trial in program layout: parameters, buffers, optimiser slots, step count and seed.
///
/// A move-only value. Programs with one StateFormat accept each other's states, so trials enter and leave lanes by
/// moves. One thread at a time.
class LaneState {
 public:
  LaneState() = default;  ///< none
  /// A state with fresh parameters, buffers and slots, which depend on trial seed, tensor name and element only.
  /// Errors: kResourceExhausted (`budget`, which may be null, or the system).
  static Result<LaneState> make(std::shared_ptr<const StateFormat> state_format, std::uint64_t trial_seed,
                                MemoryBudget* budget);

  explicit operator bool() const { return state_format_ != nullptr; }
  std::int64_t bytes() const { return state_format_->bytes(); }
  std::int64_t step_count() const { return step_; }
  std::uint64_t seed() const { return seed_; }
  const StateFormat& state_format() const { return *state_format_; }

  /// Overwrites the state with that of `make`.
  void initialise(std::uint64_t trial_seed);
  /// Returns a state of the same bits and seed. Both share memory until one is written, which copies it; the bytes of
  /// the clone are reserved at once. Errors: those of make.
  Result<LaneState> clone() const;
  /// Returns a clone for another trial, with its seed, which decides its dropout masks. Errors: those of make.
  Result<LaneState> clone(std::uint64_t trial_seed) const;
  /// The canonical single-model state: parameters and buffers by name, optimiser slots as "<name>/momentum", "/m",
  /// "/v", and "step" and "seed" (i64 scalars). Independent of layouts.
  std::vector<Tensor> extract() const;
  /// Replaces the whole state by the tensors of `extract`. Errors: kInvalidArgument naming the tensor that is missing,
  /// extra or has a wrong shape; then the state is unchanged.
  Result<void> insert(std::span<const Tensor> state);
  /// Replaces some parameters, buffers and slots, by their names in `extract`. Other tensors, the step count and the
  /// seed stay. Errors: kInvalidArgument naming the tensor that is unknown or has a wrong shape; then the state is
  /// unchanged.
  Result<void> assign(std::span<const Tensor> tensors);

  /// Gives the state memory of its own. Call it before writing through the pointers below. Throws std::bad_alloc; then
  /// nothing has changed.
  void ensure_unique() { memory_.ensure_unique(); }
  bool is_shared() const { return memory_.is_shared(); }
  /// For programs: the flat parameters, in the program's element type.
  template <class T>
  T* parameters() const {
    return part<T>(0);
  }
  /// For programs: the flat buffers, in the program's element type.
  template <class T>
  T* buffers() const {
    return part<T>(1);
  }
  /// For programs: the flat optimiser slot `k`, in the order of StateLayout::slots.
  template <class T>
  T* slot(std::size_t k) const {
    return part<T>(2 + k);
  }
  /// Adds one to the step count.
  void count_step() { ++step_; }
  /// Sets the step count, at least 0. Optimisers correct their slots by it, and dropout masks depend on it.
  void set_step_count(std::int64_t steps) { step_ = steps; }

 private:
  static Result<LaneState> reserve(std::shared_ptr<const StateFormat> state_format, MemoryBudget* budget);
  template <class T>
  T* part(std::size_t k) const {
    return reinterpret_cast<T*>(memory_.data() + state_format_->part_offset(k));
  }
  template <class T>
  void initialise_as();
  template <class T>
  std::vector<Tensor> extract_as() const;
  template <class T>
  Result<void> insert_as(std::span<const Tensor> state);
  template <class T>
  Result<void> assign_as(std::span<const Tensor> tensors);
  template <class T, class Call>
  Result<void> each_tensor(const Call& call) const;

  std::shared_ptr<const StateFormat> state_format_;
  MemoryBudget* budget_ = nullptr;
  MemoryBudget::Reservation reservation_;
  CopyOnWriteBytes memory_;  // shared with clones until one is written
  std::int64_t step_ = 0;
  std::uint64_t seed_ = 0;
};

}  // namespace lanista::nn
