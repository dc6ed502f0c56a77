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

/// What the states of a program's lanes have in common: where parameters, buffers and optimiser slots lie.
class StateFormat {
 public:
  /// `element_size` is that of float or double.
  StateFormat(StateLayout layout, std::size_t element_size);

  const StateLayout& layout() const { return layout_; }
  bool is_double() const { return element_size_ == sizeof(double); }
  std::int64_t bytes() const { return part_offset_.back(); }  ///< of one state
  std::int64_t weight_bytes() const { return part_offset_[2]; }    ///< of its parameters and buffers
  std::int64_t part_offset(std::size_t part) const { return part_offset_[part]; }
  /// Equal for programs that can take each other's states.
  const Digest& digest() const { return digest_; }

 private:
  StateLayout layout_;
  std::size_t element_size_;
  std::vector<std::int64_t> part_offset_;  // bytes; one past the last part: of the whole
  Digest digest_;
};

/// The state of one trial in program layout: parameters, buffers, optimiser slots, steps done, seed. It moves: into a
/// lane, out again, to another program of its kind, whatever its neighbours do; that is how trials enter and leave
/// lanes, and how lanes are compacted and refilled. One thread at a time.
class LaneState {
 public:
  LaneState() = default;  ///< none
  /// Fresh parameters, buffers and slots: a function of the trial seed, tensor name and element alone. Errors:
  /// kResourceExhausted (`budget`, which may be null, or the system).
  static Result<LaneState> make(std::shared_ptr<const StateFormat> state_format, std::uint64_t trial_seed, MemoryBudget* budget);

  explicit operator bool() const { return state_format_ != nullptr; }
  std::int64_t bytes() const { return state_format_->bytes(); }
  std::int64_t step_count() const { return step_; }
  std::uint64_t seed() const { return seed_; }
  const StateFormat& state_format() const { return *state_format_; }

  /// As `make`, in place.
  void initialise(std::uint64_t trial_seed);
  /// A state of the same bits, in the same memory until one of the two is trained or written: a clone costs no copy,
  /// the first update of either costs one. Its bytes are reserved at once. Errors: as of make.
  Result<LaneState> clone() const;
  /// The same for another trial: its masks are its own from here on.
  Result<LaneState> clone(std::uint64_t trial_seed) const;
  /// The canonical single-model state: parameters and buffers by name, optimiser slots as "<name>/momentum", "/m",
  /// "/v", and "step" and "seed" (i64 scalars). Independent of layouts.
  std::vector<Tensor> extract() const;
  /// The inverse of extract. Errors: kInvalidArgument naming the tensor that is missing, extra or misshapen; then the
  /// state is unchanged.
  Result<void> insert(std::span<const Tensor> state);
  /// Some parameters, buffers and slots, by their names in `extract`; the others stay as they are, and so do the steps
  /// and the seed. Errors: kInvalidArgument naming the tensor that belongs to nothing or is misshapen; then the state is
  /// unchanged.
  Result<void> assign(std::span<const Tensor> tensors);

  /// To be called before anything is written through the pointers below. Throws std::bad_alloc; nothing has changed
  /// then.
  void ensure_unique() { memory_.ensure_unique(); }
  bool is_shared() const { return memory_.is_shared(); }
  // For programs, in their element type.
  template <class T>
  T* parameters() const {
    return part<T>(0);
  }
  template <class T>
  T* buffers() const {
    return part<T>(1);
  }
  template <class T>
  T* slot(std::size_t k) const {
    return part<T>(2 + k);
  }
  void count_step() { ++step_; }
  /// Steps that count as done, at least 0: by them optimisers correct their slots, and masks are drawn.
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
  CopyOnWriteBytes memory_;  // with whoever was cloned from it, until one of them is written
  std::int64_t step_ = 0;
  std::uint64_t seed_ = 0;
};

}  // namespace lanista::nn
