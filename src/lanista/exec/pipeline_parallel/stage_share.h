#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lanista/exec/program/kernel_table.h"
#include "lanista/exec/program/state_layout.h"

namespace lanista::nn {

/// One step of a pipeline: what its passes read, and where gradients go.
template <class T>
struct StageStep {
  RunContext<T> run;
  T* out = nullptr;
  T* beside = nullptr;  ///< of one micro-batch
  bool add = false;     ///< to what `out` holds
};

/// A step in memory that processes share: what the leader has is copied there, and what comes of it is copied back. So
/// states stay the leader's own, and a step that nobody ends has changed nothing. `bytes` of memory, aligned to 64.
template <class T>
class StageShare {
 public:
  struct Sizes {
    const StateLayout& layout;
    std::int64_t numbers = 0;  ///< of a lane
    std::int64_t samples = 0;  ///< of a batch, at most
    std::int64_t input_stride = 0, target_stride = 0;
  };
  StageShare() = default;
  explicit StageShare(const Sizes& sizes);

  std::int64_t bytes() const { return bytes_; }
  /// Of that what each batch brings.
  std::int64_t batch_bytes() const { return bytes_ - input_; }

  /// The same step with tensors in that memory. Its numbers are those of `step`, whatever another process writes there.
  StageStep<T> put(std::byte* at, const StageStep<T>& step) const;
  /// What was put, as another process sees it; but for its hyper-parameters' spans, which are `numbers`.
  StageStep<T> get(std::byte* at) const;
  std::span<const double> numbers(const std::byte* at) const;
  /// Of what was put, what a place that does not see this memory has to be told: bytes, from the beginning on.
  struct Read {
    std::vector<Range> parameters, gradients;
    bool input = false, target = false;
  };
  struct Bytes {
    std::int64_t begin = 0, count = 0;
  };
  std::vector<Bytes> told(const StageStep<T>& step, const Read& read) const;
  /// Of what comes of a step: gradients, or new buffers.
  Bytes gradient(const Range& range) const;
  Bytes renewed(const Range& range) const;

  /// Gradients and new buffers, to where the step that was put has them.
  void collect(const std::byte* at, const StageStep<T>& step) const;

 private:
  struct Facts {
    std::int64_t batch, total;
    std::uint64_t seed, step;
    double grad_scale;
    LaneHyper hyper;
    std::uint8_t has_numbers, has_target, has_index, has_weights, add;  // bytes: another process may write any value
  };
  StageStep<T> view(std::byte* at, const Facts& facts, const LaneHyper* hyper) const;

  std::vector<Range> trained_, renewed_;
  std::int64_t parameters_ = 0;  // elements
  std::int64_t numbers_ = 0, input_stride_ = 0, target_stride_ = 0;
  // Where things lie.
  std::int64_t number_ = 0, parameter_ = 0, out_ = 0, beside_ = 0, renewed_at_ = 0, input_ = 0, target_ = 0, index_ = 0,
               weight_ = 0, bytes_ = 0;
};

}  // namespace lanista::nn
