#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>

#include "lanista/model/graph/graph.h"
#include "lanista/exec/program/shard_communicator.h"

// What machines are given to do, and what they say of it.
namespace lanista::nn {

/// A stretch of a lane's flat parameters (StateLayout) that trains at a factor of the lane's learning rate.
struct LrRange {
  std::int64_t begin = 0, count = 0;  ///< elements
  double factor = 1;
};

/// The numbers of one lane for the coming step; doubles, converted by the kernels.
struct LaneHyper {
  double lr = 0.01;
  double momentum = 0;
  double weight_decay = 0;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double clip_norm = 0;  ///< global L2 norm of all gradients; 0: off
  double label_smoothing = 0;
  bool nesterov = false;
  std::span<const double> lane_attrs = {};  ///< in the order of Program::lane_attrs(); none: as the model has
                                         ///< them
  /// Ascending, disjoint; what lies in none has the rate as it is. As a group of parameters of its own: decoupled decay
  /// goes with the rate, L2 with the gradient, and clip_norm knows no factors.
  std::span<const LrRange> lr_ranges = {};
};

/// Calls f(begin, count, factor) for the pieces of one factor each of [begin, begin + count), ascending.
template <class F>
void for_each_lr_range(std::span<const LrRange> lr_ranges, std::int64_t begin, std::int64_t count, const F& f) {
  const std::int64_t end = begin + count;
  for (const LrRange& range : lr_ranges) {
    const std::int64_t from = std::max(begin, range.begin), to = std::min(end, range.begin + range.count);
    if (from >= to) continue;
    if (from > begin) f(begin, from - begin, 1.0);
    f(from, to - from, range.factor);
    begin = to;
  }
  if (begin < end) f(begin, end - begin, 1.0);
}

/// An attribute of a model's node that every lane may set for itself (graph::AttrSpec::per_lane).
struct LaneAttr {
  graph::NodeId node;
  std::string attr;
  double value = 0;  ///< of the model that the program was compiled from
};

struct SampleTable;

/// One mini-batch, in canonical order [n, …] (images [n, C, H, W]).
struct Batch {
  std::int64_t size = 0;                       ///< samples, at most ProgramOptions::max_batch
  std::span<const float> features;             ///< token numbers too: whole numbers, exact below 2^24
  std::span<const std::int32_t> labels;        ///< cross-entropy: [n], or [n, positions]
  std::span<const float> targets;              ///< mse: [n, …]
  std::span<const std::int64_t> sample_index;  ///< [n] numbers of the samples in the data set; keys of
                                               ///< dropout masks
  /// [n] how much each sample counts in a step: its loss and its gradient are multiplied; none: 1 each. The divisor of
  /// the mean stays the number of samples. Evaluations and losses of samples know no weights.
  std::span<const float> weights = {};
  /// Where these samples stand as they are, features, labels and targets, at the rows that sample_index tells; null:
  /// nowhere. A device that has the table needs only the rows.
  const SampleTable* table = nullptr;
};

/// All samples that batches are made of. Whoever keeps it elsewhere keeps it by its identity, and no longer than the
/// programs that read it.
struct SampleTable {
  const void* identity = nullptr;  ///< of the samples; they do not change
  std::int64_t rows = 0;
  /// So many neighbouring rows as a batch; it lives until the next is read. One thread at a time.
  std::function<Batch(std::int64_t first, std::int64_t count)> read;
};

/// What lanes do in one step: one batch for all of them or one a lane, and the numbers of each.
struct StepInput {
  std::span<const Batch> batches;
  std::span<const LaneHyper> hyper;
};

/// Steps of some lanes, one after the other.
struct Chunk {
  std::int64_t steps = 1;
  std::span<const std::uint8_t> active;  ///< one a lane; 0: the lane is masked: not computed, not changed
  /// The work of a step, asked for once and in order; it lives until the next is asked for, or the chunk is done.
  std::function<StepInput(std::int64_t step)> step_input;
  /// Who shares these steps, of the one active lane then; null: nobody. Their width is at most Program::shards(). If
  /// they fail, the lane has thrown: it is as it was after its last step, and may go on without them.
  ShardCommunicator* communicator = nullptr;
  /// One a lane, or none; 1: LaneResult::squared_gradient_norm is wanted of it. Steps are the same to the bit.
  std::span<const std::uint8_t> wants_gradient_norm = {};
};

/// What became of a lane in a chunk.
struct LaneResult {
  double loss_sum = 0;         ///< mean loss before the update, weights in it, times samples,
                               ///< of each step, added to what stands here
  double loss = 0;             ///< of the last step
  double squared_gradient_norm = 0;  ///< of the last step's gradient (nn::squared_gradient_norm), where the chunk asks for it
  std::int64_t steps = 0;      ///< done in this chunk; fewer than it has if the lane threw
  std::int64_t first_nonfinite_step = -1;  ///< the first step of the chunk whose loss was no
                               ///< finite number; -1: none
  std::exception_ptr failure;  ///< what it threw; it is as it was after its last step
};

}  // namespace lanista::nn
