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

namespace lanista::program {

/// The layout that all lane states of a program share: element type, and offsets of parameters, buffers and optimiser
/// slots.
class StateFormat {
 public:
  /// `element_size` is sizeof(float) or sizeof(double).
  StateFormat(StateLayout layout, std::size_t element_size);

  /// The tensors, their ranges and the names of the slots.
  const StateLayout& layout() const { return layout_; }
  /// True if elements are doubles, false if they are floats.
  bool is_double() const { return element_size_ == sizeof(double); }
  std::int64_t bytes() const { return part_offset_.back(); }     ///< Bytes of one state.
  std::int64_t weight_bytes() const { return part_offset_[2]; }  ///< Bytes of the parameters and buffers of one state.
  /// Offset in bytes of a part from the begin of a state: 0 parameters, 1 buffers, 2 and up the optimiser slots.
  std::int64_t part_offset(std::size_t part) const { return part_offset_[part]; }
  /// Digest of the whole layout; it is equal for programs that accept each other's states.
  const Digest& digest() const { return digest_; }

 private:
  StateLayout layout_;
  std::size_t element_size_;
  std::vector<std::int64_t> part_offset_;  // bytes; the last entry is the total
  Digest digest_;
};

/// The state of one trial in program layout: parameters, buffers, optimiser slots, step count and seed.
///
/// A move-only value that owns its memory. Programs with one StateFormat accept each other's states, so trials enter
/// and leave lanes by moves. One thread at a time. An empty state converts to false; only moves and that conversion are
/// allowed on it. Functions that overwrite a state first copy memory that a clone shares, which may throw
/// std::bad_alloc; then nothing has changed.
class LaneState {
 public:
  LaneState() = default;  ///< An empty state.
  /// A state before the first step: fresh parameters and buffers, slots of zeros, step count 0. Values depend on trial
  /// seed, tensor name and element only. Errors: kResourceExhausted (`budget`, null for no limit, or the memory of the
  /// system).
  static Result<LaneState> make(std::shared_ptr<const StateFormat> state_format, std::uint64_t trial_seed,
                                MemoryBudget* budget);

  /// True if this is a state, false if it is empty or was moved from.
  explicit operator bool() const { return state_format_ != nullptr; }
  /// Bytes of the state, in memory and in the budget.
  std::int64_t bytes() const { return state_format_->bytes(); }
  /// Steps done.
  std::int64_t step_count() const { return step_; }
  /// The trial seed, which decides dropout masks.
  std::uint64_t seed() const { return seed_; }
  /// The format, valid as long as this state or another one of the format.
  const StateFormat& state_format() const { return *state_format_; }

  /// Overwrites the whole state in place by the one that make() gives for this seed: initial parameters, buffers and
  /// optimiser slots, and step count 0.
  void initialise(std::uint64_t trial_seed);
  /// Returns a state of the same bits and seed. Both share memory until one is written, which copies it; the bytes of
  /// the clone are reserved in the budget at once. Errors: kResourceExhausted (budget).
  Result<LaneState> clone() const;
  /// Returns a clone for another trial: `trial_seed` replaces the seed, which decides the dropout masks. Errors:
  /// kResourceExhausted (budget).
  Result<LaneState> clone(std::uint64_t trial_seed) const;
  /// Returns a clone for another trial with memory of its own. Errors: kResourceExhausted (budget, or the memory of the
  /// system).
  Result<LaneState> copy(std::uint64_t trial_seed) const;
  /// Returns a copy of the state as tensors in logical (PyTorch) axis order and the program's element type, independent
  /// of program layouts. First come parameters and buffers in the order of the layout's items. Then come the slots of
  /// each parameter as "<name>/momentum", "<name>/m", "<name>/v". The last are "step" and "seed" (i64 scalars).
  std::vector<Tensor> extract() const;
  /// Replaces the whole state by tensors as `extract` returns them, in any order. Errors: kInvalidArgument, naming the
  /// tensor that is missing, extra, listed twice, or of wrong shape, type or size, or a negative "step"; then the state
  /// is unchanged.
  Result<void> insert(std::span<const Tensor> state);
  /// Replaces some parameters, buffers and slots, by their names in `extract`. Other tensors, the step count and the
  /// seed stay. Errors: kInvalidArgument, naming the tensor that is unknown ("step" and "seed" too), listed twice, or
  /// of wrong shape, type or size; then the state is unchanged.
  Result<void> assign(std::span<const Tensor> tensors);

  /// Gives the state memory that no clone shares, by a copy if necessary. Call it before writing through the pointers
  /// below. Throws std::bad_alloc; then nothing has changed.
  void ensure_unique() { memory_.ensure_unique(); }
  /// True if a clone shares the memory.
  bool is_shared() const { return memory_.is_shared(); }
  /// For programs: pointer to the flat parameters (StateLayout::parameters elements). T is the program's element type.
  template <class T>
  T* parameters() const {
    return part<T>(0);
  }
  /// For programs: pointer to the flat buffers (StateLayout::buffers elements). T is the program's element type.
  template <class T>
  T* buffers() const {
    return part<T>(1);
  }
  /// For programs: pointer to the flat optimiser slot `k`, an index in StateLayout::slots. It has the layout of the
  /// parameters.
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
  Result<void> write_as(std::span<const Tensor> tensors, bool every);
  template <class T, class Call>
  Result<void> each_tensor(const Call& call) const;

  std::shared_ptr<const StateFormat> state_format_;
  MemoryBudget* budget_ = nullptr;
  MemoryBudget::Reservation reservation_;
  CopyOnWriteBytes memory_;  // shared with clones until one is written
  std::int64_t step_ = 0;
  std::uint64_t seed_ = 0;
};

}  // namespace lanista::program
