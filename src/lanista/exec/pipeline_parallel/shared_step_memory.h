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
  T* gradients = nullptr;
  T* scratch_gradients = nullptr;  ///< of one micro-batch
  bool add = false;     ///< to what `gradients` holds
};

/// A step in memory that processes share: what the leader has is copied there, and what comes of it is copied back. So
/// states stay the leader's own, and a step that nobody ends has changed nothing. `bytes` of memory, aligned to 64.
template <class T>
class SharedStepMemory {
 public:
  struct Sizes {
    const StateLayout& layout;
    std::int64_t lane_attrs = 0;  ///< of a lane
    std::int64_t samples = 0;  ///< of a batch, at most
    std::int64_t input_stride = 0, target_stride = 0;
  };
  SharedStepMemory() = default;
  explicit SharedStepMemory(const Sizes& sizes);

  std::int64_t bytes() const { return bytes_; }
  /// Of that what each batch brings.
  std::int64_t step_input_bytes() const { return bytes_ - input_offset_; }

  /// The same step with tensors in that memory. Its numbers are those of `step`, whatever another process writes there.
  StageStep<T> write(std::byte* at, const StageStep<T>& step) const;
  /// What was put, as another process sees it; but for its hyper-parameters' spans, which are `lane_attrs`.
  StageStep<T> read(std::byte* at) const;
  std::span<const double> lane_attrs(const std::byte* at) const;
  /// Of what was put, what a place that does not see this memory has to be told: bytes, from the beginning on.
  struct RankReads {
    std::vector<Range> parameters, gradients;
    bool input = false, target = false;
  };
  struct ByteRange {
    std::int64_t begin = 0, count = 0;
  };
  std::vector<ByteRange> bytes_to_send(const StageStep<T>& step, const RankReads& read) const;
  /// Of what comes of a step: gradients, or new buffers.
  ByteRange gradient(const Range& range) const;
  ByteRange renewed(const Range& range) const;

  /// Gradients and new buffers, to where the step that was put has them.
  void collect_results(const std::byte* at, const StageStep<T>& step) const;

 private:
  struct StepHeader {
    std::int64_t batch, total;
    std::uint64_t seed, step;
    double grad_scale;
    LaneHyper hyper;
    std::uint8_t has_lane_attrs, has_target, has_index, has_weights, add;  // bytes: another process may write any value
  };
  StageStep<T> view(std::byte* at, const StepHeader& header, const LaneHyper* hyper) const;

  std::vector<Range> trained_, renewed_;
  std::int64_t parameters_ = 0;  // elements
  std::int64_t lane_attrs_ = 0, input_stride_ = 0, target_stride_ = 0;
  // Where things lie.
  std::int64_t lane_attrs_offset_ = 0, parameters_offset_ = 0, gradients_offset_ = 0, scratch_gradients_offset_ = 0, new_buffers_offset_ = 0, input_offset_ = 0, target_offset_ = 0, sample_index_offset_ = 0,
               weights_offset_ = 0, bytes_ = 0;
};

}  // namespace lanista::nn
