#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/pipeline_parallel/pipeline_stages.h"
#include "lanista/exec/program/program.h"

namespace lanista::runtime {

/// Seconds of one core for an operator's passes over a micro-batch, with cold caches.
struct OperatorTimes {
  double forward = 0, input_grad = 0, weight_grad = 0;  ///< Seconds of the passes.
  double warm_cache_factor = 1;  ///< Share of the time right after the same pass over another micro-batch.
};

/// Compiles the program for these stages, which live as long as the program. Lane 0 has a state, which changes.
using CompileStages = std::function<Result<nn::Program>(const nn::Stages& stages)>;
/// Times each operator of a planned step as its own stage, on the calling thread, for batches of several micro-batches.
/// Two orders are timed: each micro-batch through all stages and back, and all micro-batches in one stage after the
/// other. Returns medians of `repeats` steps of each order, at a learning rate of zero. Errors: those of `compile` and
/// stages_of, kInvalidArgument (micro-batches do not divide the batch, or there is only one).
Result<std::vector<OperatorTimes>> time_passes(const PlannedModel& planned, std::int64_t micro_batch,
                                               const CompileStages& compile, const nn::Batch& batch, int repeats);

}  // namespace lanista::runtime
