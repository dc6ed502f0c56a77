#pragma once

#include <cstdint>

#include "lanista/base/result.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::bench {

/// What one training step of one model cannot do without, whatever the program.
struct StepInput {
  /// Of its products (linear layers, convolutions, matrix products, and their gradients), two a multiply-add;
  /// multiplications with padding count.
  double flops = 0;
  double batch_bytes = 0;  ///< of the batch's features
  /// Of the values that the forward pass leaves to the gradients of weights.
  double kept_bytes = 0;
  double state_bytes = 0;  ///< of parameters and momentum

  /// Bytes moved at least: the batch is read, the rest written and read.
  double traffic() const { return batch_bytes + 2 * (kept_bytes + state_bytes); }
  /// Bytes that are used again and again when `lanes` models train in turn.
  double resident(std::int64_t lanes) const {
    return batch_bytes + kept_bytes + static_cast<double>(lanes) * state_bytes;
  }
};

/// Of momentum SGD in single precision. `ops` is training_ops(...).
StepInput step_work(const step::TrainingStep& step, const graph::OpTable& ops, std::int64_t batch);

}  // namespace lanista::bench
