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
namespace lanista::nn {

/// A range of a lane's flat parameters (StateLayout) that trains with a factor of the lane's learning rate.
struct LrRange {
  std::int64_t begin = 0, count = 0;  ///< elements
  double factor = 1;                  ///< factor of the learning rate
};

/// The hyper-parameters of one lane for the next step. Kernels convert the doubles to their own type.
struct LaneHyper {
  double lr = 0.01;
  double momentum = 0;  ///< of SGD
  double weight_decay = 0;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double clip_norm = 0;  ///< limit of the L2 norm of all gradients together; 0: off
  double label_smoothing = 0;
  bool nesterov = false;
  std::span<const double> lane_attrs = {};  ///< in the order of Program::lane_attrs(); empty: the model's values
  /// Ranges in ascending order, without overlap. Other parameters have factor 1. A range acts like a parameter group:
  /// decoupled decay follows its rate, L2 decay follows the gradient, and clip_norm ignores factors.
  std::span<const LrRange> lr_ranges = {};
};

/// Calls f(begin, count, factor) for each piece of [begin, begin + count) with one factor, in ascending order.
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
  graph::NodeId node;
  std::string attr;
  double value = 0;  ///< value in the model that was compiled
};

struct SampleTable;

/// One mini-batch in canonical order: [n, …], images as [n, C, H, W].
struct Batch {
  std::int64_t size = 0;                       ///< Samples, at most ProgramOptions::max_batch.
  std::span<const float> features;             ///< Also token numbers, as whole numbers below 2^24.
  std::span<const std::int32_t> labels;        ///< cross-entropy: [n], or [n, positions].
  std::span<const float> targets;              ///< Mse: [n, …].
  std::span<const std::int64_t> sample_index;  ///< [n] row numbers in the data set; they seed dropout masks.
  /// [n] factors of each sample's loss and gradient in a step; empty: all 1. The mean still divides by the number of
  /// samples. Evaluations and Program::losses ignore weights.
  std::span<const float> weights = {};
  /// The table that holds these samples unchanged at the rows in sample_index; null: none. A device with a copy of the
  /// table needs the row numbers only.
  const SampleTable* table = nullptr;
};

/// All samples from which batches are taken. A device copy of it is identified by `identity`, and lives no longer than
/// the programs that read it.
struct SampleTable {
  const void* identity = nullptr;  ///< identity of the samples, which do not change
  std::int64_t rows = 0;           ///< Number of samples.
  /// Returns `count` neighbouring rows as a batch, valid until the next call. One thread at a time.
  std::function<Batch(std::int64_t first, std::int64_t count)> read;
};

/// The input of one step: one batch for all lanes or one a lane, and the hyper-parameters of each lane.
struct StepInput {
  std::span<const Batch> batches;
  std::span<const LaneHyper> hyper;
};

/// A number of consecutive steps of some lanes.
struct Chunk {
  std::int64_t steps = 1;
  std::span<const std::uint8_t> active;  ///< one a lane; 0: the lane is masked and keeps its state
  /// Returns the input of a step. It is called once a step, in order. The result is valid until the next call or the
  /// end of the chunk.
  std::function<StepInput(std::int64_t step)> step_input;
  /// The ranks that share the steps of the one active lane; null: none. Their number is at most Program::shards(). If a
  /// rank is lost, the lane fails, keeps the state after its last step, and may continue alone.
  ShardCommunicator* communicator = nullptr;
  /// One a lane, or empty; 1: compute LaneResult::squared_gradient_norm. The steps have the same bits either way.
  std::span<const std::uint8_t> needs_gradient_norm = {};
};

/// The result of one lane after a chunk.
struct LaneResult {
  double loss_sum = 0;  ///< Sum over steps of mean loss before the update x samples, added to the value it had.
  double loss = 0;      ///< Mean loss of the last step, before its update.
  double squared_gradient_norm = 0;        ///< Nn::squared_gradient_norm of the last step, if the chunk requests it.
  std::int64_t steps = 0;                  ///< Steps done in this chunk; fewer than Chunk::steps if the lane failed.
  std::int64_t first_nonfinite_step = -1;  ///< First step of the chunk with a NaN or infinite loss; -1: none.
  std::exception_ptr failure;              ///< Exception of the lane, which keeps the state after its last step.
};

}  // namespace lanista::nn
