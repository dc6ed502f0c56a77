#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/program/program.h"
#include "lanista/exec/pipeline_parallel/pipeline_stages.h"

namespace lanista::runtime {

/// What an operator's passes over a micro-batch take of a core, in seconds, where what they read is far away; and the
/// share of that where the same pass over another micro-batch was the one before (pipeline::Operator::again).
struct OperatorTimes {
  double forward = 0, input_grad = 0, weight_grad = 0;
  double warm_cache_factor = 1;
};

/// Times every operator of a planned step as a stage of its own, all of them at the calling thread, for batches of
/// several micro-batches: in the order of steps each micro-batch goes through all stages and back before the next, or
/// a stage does all of them in a row. Medians of `repeats` steps of either kind, at a learning rate of zero. `compile`
/// makes the program for stages that are alive as long as it is; its lane 0 has a state, and does not keep it. Errors:
/// those of `compile` and stages_of; kInvalidArgument where micro-batches do not divide the batch, or are all of it.
using CompileStages = std::function<Result<nn::Program>(const nn::Stages& stages)>;
Result<std::vector<OperatorTimes>> time_passes(const PlannedModel& planned, std::int64_t micro_batch,
                                               const CompileStages& compile, const nn::Batch& batch, int repeats);

}  // namespace lanista::runtime
