#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/nn/aligned_bytes.h"
#include "lanista/nn/program.h"
#include "lanista/nn/state_layout.h"

namespace lanista::nn {

/// The state of all lanes, in program layout, with each lane's gradients and new buffer values beside it.
template <class T>
class LaneStates {
 public:
  LaneStates(StateLayout layout, std::int64_t lanes);

  /// What `lanes` lanes take, before any of it is allocated.
  static std::int64_t bytes(const StateLayout& layout, std::int64_t lanes);

  const StateLayout& layout() const { return layout_; }
  T* parameters(std::int64_t lane) const { return part(lane, 0); }
  T* gradients(std::int64_t lane) const { return part(lane, 1); }
  T* buffers(std::int64_t lane) const { return part(lane, 2); }
  T* new_buffers(std::int64_t lane) const { return part(lane, 3); }
  T* slot(std::int64_t lane, std::size_t k) const { return part(lane, 4 + k); }
  std::uint64_t seed(std::int64_t lane) const { return numbers_[static_cast<std::size_t>(lane)].seed; }
  std::int64_t step(std::int64_t lane) const { return numbers_[static_cast<std::size_t>(lane)].step; }

  // As in Program.
  void initialise(std::int64_t lane, std::uint64_t trial_seed);
  std::vector<Tensor> extract(std::int64_t lane) const;
  Result<void> insert(std::int64_t lane, std::span<const Tensor> state);

  /// The commit section: gradients (scaled down if they exceed clip_norm) into parameters and slots, new buffer values
  /// into buffers, one more step. Cannot fail.
  void commit(std::int64_t lane, step::Optimizer optimizer, const LaneHyper& hyper, const kernels::Kernels<T>& k);

 private:
  struct Numbers {
    std::int64_t step = 0;
    std::uint64_t seed = 0;
  };
  T* part(std::int64_t lane, std::size_t k) const {
    return reinterpret_cast<T*>(memory_.data() + lane * lane_bytes_ + part_offset_[k]);
  }
  static std::vector<std::int64_t> part_offsets(const StateLayout& layout);

  StateLayout layout_;
  std::vector<std::int64_t> part_offset_;  // bytes; one past the last part: of a whole lane
  std::int64_t lane_bytes_ = 0;
  std::vector<Numbers> numbers_;
  AlignedBytes memory_;
};

}  // namespace lanista::nn
