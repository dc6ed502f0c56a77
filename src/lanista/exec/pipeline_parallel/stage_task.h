#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/digest.h"
#include "lanista/base/precision.h"
#include "lanista/base/result.h"
#include "lanista/exec/pipeline_parallel/stages.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::runtime {

/// The task of a process that serves a rank of another process's steps. A value that encode() turns into a message.
struct StageTask {
  std::string model;  ///< graph::to_text of the model
  step::StepOptions step;
  std::string build;  ///< engine::build_fingerprint() of the sender
  std::string isa;    ///< level of instructions
  Precision precision = Precision::kFloat32;
  std::int64_t max_batch = 1, shards = 1, accumulate = 1;
  nn::Stages stages;  ///< without observer and remote ranks
  // Of the rank and its memory:
  std::uint64_t number = 0;  ///< task number, which the answer repeats
  std::uint64_t rank = 0;
  std::string memory;  ///< path of the shared memory; empty with separate memory
  std::int64_t bytes = 0;
  Digest digest;  ///< digest that the compiled program must have
};

/// Encodes a task as a message.
std::string encode(const StageTask& task);
/// Decodes a task. Errors: kDataLoss, naming what is missing or wrong.
Result<StageTask> decode_stage_task(std::string_view text);

}  // namespace lanista::runtime
