#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>

#include "lanista/exec/program/shard_communicator.h"
#include "lanista/model/graph/graph.h"

// The work that an executable receives, and its results.
namespace lanista::program {

/// A range of a lane's flat parameters (StateLayout) that trains with a factor of the lane's learning rate.
struct LrRange {
  std::int64_t begin = 0, count = 0;  ///< First element in the flat parameters, and number of elements.
  double factor = 1;                  ///< Factor of the learning rate.
};

/// The hyper-parameters of one lane for the next step. Kernels convert the doubles to their own type.
struct LaneHyper {
  double lr = 0.01;         ///< Learning rate of this step.
  double momentum = 0;      ///< Momentum factor of SGD; 0: off.
  double weight_decay = 0;  ///< Factor of the weight decay; 0: off.
  /// Of Adam and similar optimisers: decays of the two moments, and the constant in the denominator.
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double clip_norm = 0;        ///< Limit of the L2 norm of all gradients together; 0: off.
  double label_smoothing = 0;  ///< Label smoothing of cross-entropy, in [0, 1).
  bool nesterov = false;       ///< True: Nesterov momentum.
  /// One value for each entry of Program::lane_attrs(); empty: the model's values.
  std::span<const double> lane_attrs = {};
  /// Ranges of parameters in ascending order, without overlap. Other parameters have factor 1. A range acts like a
  /// parameter group of PyTorch: decoupled decay follows the range's rate, L2 decay follows the gradient, and clip_norm
  /// ignores factors.
  std::span<const LrRange> lr_ranges = {};
};

/// Calls f(begin, count, factor) for each piece of [begin, begin + count) that has one factor, in ascending order.
/// Pieces outside all ranges have factor 1.
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

/// An attribute of a model's node that each lane may set for itself (graph::AttrSpec::per_lane).
struct LaneAttr {
  graph::NodeId node;  ///< Node of the compiled model.
  std::string attr;    ///< Name of the attribute.
  double value = 0;    ///< Value in the model that was compiled.
};

struct SampleTable;

/// One mini-batch in canonical order: [n, …], images as [n, C, H, W].
struct Batch {
  std::int64_t size = 0;            ///< Samples, from 1 to ProgramOptions::max_batch.
  std::span<const float> features;  ///< [n, …] inputs; token numbers are whole numbers below 2^24.
  /// Class of each sample (cross-entropy): [n], or [n, positions]; empty for other losses.
  std::span<const std::int32_t> labels;
  std::span<const float> targets;  ///< [n, …] real targets, or 0 and 1 for labels; empty for cross-entropy.
  /// [n] row numbers in the data set, which seed dropout masks; may be empty without dropout.
  std::span<const std::int64_t> sample_index;
  /// [n] factors of each sample's loss and gradient in a step; empty: all 1. The mean loss still divides by the number
  /// of samples, not by the sum of weights. Evaluations and Program::losses ignore weights.
  std::span<const float> weights = {};
  /// The table with these samples, unchanged, at the rows in sample_index; null: none. A device that has a copy of the
  /// table needs the row numbers only.
  const SampleTable* table = nullptr;
};

/// All samples from which batches are taken, so that a device can keep a copy. `identity` identifies the copy, which
/// lives no longer than the programs that read it.
struct SampleTable {
  const void* identity = nullptr;  ///< Equal for two tables with the same samples, which do not change.
  std::int64_t rows = 0;           ///< Number of samples.
  /// Returns the `count` neighbouring rows from row `first` as a batch, valid until the next call. One thread at a
  /// time.
  std::function<Batch(std::int64_t first, std::int64_t count)> read;
};

/// The input of one step: one batch for all lanes or one a lane, and the hyper-parameters of each lane.
struct StepInput {
  std::span<const Batch> batches;    ///< One for all lanes, or one a lane.
  std::span<const LaneHyper> hyper;  ///< One a lane.
};

/// A number of consecutive steps of some lanes.
struct Chunk {
  std::int64_t steps = 1;                ///< Number of steps, the same for all lanes.
  std::span<const std::uint8_t> active;  ///< One a lane; 0: the lane is masked and keeps its state.
  /// Returns the input of step `step`, counted from 0 in this chunk. It is called once a step, in order. The result
  /// must stay valid until the next call or the end of the chunk.
  std::function<StepInput(std::int64_t step)> step_input;
  /// The ranks that share the steps of the one active lane; null: none. Their number is from 2 to Program::shards(). If
  /// a rank is lost, the lane fails, keeps the state after its last whole step, and may continue alone.
  ShardCommunicator* communicator = nullptr;
  /// One a lane, or empty for none; 1: compute LaneResult::squared_gradient_norm. The steps have the same bits either
  /// way.
  std::span<const std::uint8_t> needs_gradient_norm = {};
};

/// The result of one lane after a chunk.
struct LaneResult {
  /// Sum over steps of (mean loss before the update) x (samples), added to the value that was here.
  double loss_sum = 0;
  double loss = 0;  ///< Mean loss of the last step, before its update.
  double squared_gradient_norm =
      0;                   ///< program::squared_gradient_norm of the last step, if the chunk requests it; else 0.
  std::int64_t steps = 0;  ///< Steps done in this chunk; fewer than Chunk::steps if the lane failed.
  /// First step with a NaN or infinite loss, counted from 0 in this chunk; -1: none.
  std::int64_t first_nonfinite_step = -1;
  std::exception_ptr failure;  ///< Exception of the lane, which keeps the state after its last whole step; null: none.
};

}  // namespace lanista::program
