#pragma once

#include <cstdint>

#include "lanista/base/result.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::bench {

/// The arithmetic and the memory traffic of one training step of one model that no program can avoid.
struct StepInput {
  /// FLOPs of linear layers, convolutions, matrix products and their gradients. Multiplications with padding count.
  double flops = 0;
  double batch_bytes = 0;  ///< Bytes of the features of the batch.
  double kept_bytes = 0;   ///< Bytes of the forward values that weight gradients read.
  double state_bytes = 0;  ///< Bytes of parameters and momentum.

  /// Least bytes that move: the batch is read, all else is written and read.
  double traffic() const { return batch_bytes + 2 * (kept_bytes + state_bytes); }
  /// Bytes that are used in each round when `lanes` models train in turn.
  double resident(std::int64_t lanes) const {
    return batch_bytes + kept_bytes + static_cast<double>(lanes) * state_bytes;
  }
};

/// The work of a step with momentum SGD in single precision. `ops` is the result of training_ops().
StepInput step_work(const autodiff::TrainingStep& step, const graph::OpTable& ops, std::int64_t batch);

}  // namespace lanista::bench
