#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/pipeline_parallel/pipeline_stages.h"
#include "lanista/exec/program/program.h"

namespace lanista::runtime {

/// CPU seconds of one core for the passes of one operator over one micro-batch, with cold caches.
struct OperatorTimes {
  /// Seconds of the forward pass and of both parts of the backward pass.
  double forward = 0, input_grad = 0, weight_grad = 0;
  /// Warm cache factor, above 0 and at most 1: share of these seconds right after the same pass over another
  /// micro-batch.
  double warm_cache_factor = 1;
};

/// Compiles the program for these stages. They live as long as the program. Lane 0 must have a state, which the timed
/// steps change.
using CompileStages = std::function<Result<program::Program>(const program::Stages& stages)>;
/// Times each operator of a planned step as its own stage, on the calling thread. A micro-batch has `micro_batch`
/// samples. Two orders are timed: each micro-batch through all stages and back, and all micro-batches in one stage
/// after the other. Returns, for each operator in the order of `planned.nodes`, medians of `repeats` steps of each
/// order. The learning rate is zero.
///
/// Errors: those of `compile` and executable_stages, kInvalidArgument (micro-batches do not divide the batch, or there
/// is only one).
Result<std::vector<OperatorTimes>> time_passes(const PlannedModel& planned, std::int64_t micro_batch,
                                               const CompileStages& compile, const program::Batch& batch, int repeats);

}  // namespace lanista::runtime
