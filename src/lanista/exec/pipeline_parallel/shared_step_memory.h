#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lanista/exec/program/kernel_table.h"
#include "lanista/exec/program/state_layout.h"

namespace lanista::program {

/// One step of a pipeline: the inputs of its passes, and the destination of gradients.
template <class T>
struct StageStep {
  RunContext<T> run;               ///< Numbers and addresses of the step.
  T* gradients = nullptr;          ///< Destination of the summed gradients, in the layout of the parameters.
  T* scratch_gradients = nullptr;  ///< Memory for the gradients of one micro-batch.
  bool add = false;                ///< True: gradients are added to what `gradients` holds.
};

/// The layout of a step in memory that all ranks share.
///
/// The leader (rank 0) copies the inputs of a step into it (write), and other ranks read them (read). The leader copies
/// gradients and new buffers out (collect_results). So states stay with the leader, and a step that does not end
/// changes nothing. The memory has bytes() bytes, aligned to 64.
template <class T>
class SharedStepMemory {
 public:
  /// The sizes that decide the layout.
  struct Sizes {
    const StateLayout& layout;                         ///< Layout of parameters and buffers.
    std::int64_t lane_attrs = 0;                       ///< Number of lane attributes of a lane.
    std::int64_t samples = 0;                          ///< Most samples of a batch.
    std::int64_t input_stride = 0, target_stride = 0;  ///< Bytes of a sample's input and target.
  };
  SharedStepMemory() = default;
  explicit SharedStepMemory(const Sizes& sizes);

  /// Bytes of the whole memory.
  std::int64_t bytes() const { return bytes_; }
  /// The part of bytes() that each batch fills: inputs, targets, sample indices and weights.
  std::int64_t step_input_bytes() const { return bytes_ - input_offset_; }

  /// Copies the inputs of `step` to memory `at`, and returns the same step with its tensors there. The returned numbers
  /// stay those of `step`, whatever another process writes there.
  StageStep<T> write(std::byte* at, const StageStep<T>& step) const;
  /// Returns the step that another process wrote; its numbers, such as the batch size, are not checked. The spans of
  /// its hyper-parameters are not valid; use lane_attrs().
  StageStep<T> read(std::byte* at) const;
  /// Returns the lane attributes of the step in memory `at`; empty if it has none.
  std::span<const double> lane_attrs(const std::byte* at) const;
  /// The inputs of a step that one rank reads.
  struct RankReads {
    std::vector<Range> parameters, gradients;  ///< Elements of the flat parameters, and of the flat gradients.
    bool input = false, target = false;        ///< True: it reads the features, or the targets, of the batch.
  };
  /// A range of the memory, in bytes from the begin of the memory.
  struct ByteRange {
    std::int64_t begin = 0, count = 0;  ///< First byte, and number of bytes.
  };
  /// Returns the ranges of a written step that a rank with separate memory must receive.
  std::vector<ByteRange> bytes_to_send(const StageStep<T>& step, const RankReads& read) const;
  /// Returns where these elements of the flat gradients, summed over micro-batches, are: bytes from the begin of the
  /// memory.
  ByteRange gradient(const Range& range) const;
  /// Returns where a range of elements of the flat new buffer values is: bytes from the begin of the memory.
  ByteRange renewed(const Range& range) const;

  /// Copies gradients and new buffer values from memory `at` to their destinations in `step`, the argument of write().
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
  // Offsets in bytes.
  std::int64_t lane_attrs_offset_ = 0, parameters_offset_ = 0, gradients_offset_ = 0, scratch_gradients_offset_ = 0;
  std::int64_t new_buffers_offset_ = 0, input_offset_ = 0, target_offset_ = 0, sample_index_offset_ = 0;
  std::int64_t weights_offset_ = 0, bytes_ = 0;
};

}  // namespace lanista::program
