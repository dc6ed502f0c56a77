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
  std::string model;                                       ///< graph::to_text of the model.
  autodiff::StepOptions step;                              ///< Loss and optimiser of the step.
  std::string build;                                       ///< engine::build_fingerprint() of the sender.
  std::string isa;                                         ///< Instruction set level, as kernels::isa_name.
  Precision precision = Precision::kFloat32;               ///< Element type.
  std::int64_t max_batch = 1, shards = 1, accumulate = 1;  ///< Options of the program.
  program::Stages stages;                                  ///< Without observer and remote ranks.
  // Of the rank and its memory:
  std::uint64_t number = 0;  ///< Task number, which the answer repeats.
  std::uint64_t rank = 0;    ///< Rank that the process serves, from 1.
  std::string memory;        ///< Path of the shared memory; empty with separate memory.
  std::int64_t bytes = 0;    ///< Bytes of the step memory of the rank.
  Digest digest;             ///< StageMemoryMap::program that the compiled program must have.
};

/// Encodes a task as a JSON message. Observer, remote ranks, names and expected times of the stages are left out.
std::string encode(const StageTask& task);
/// Decodes the message of encode(). Errors: kDataLoss, naming the field that is missing or wrong.
Result<StageTask> decode_stage_task(std::string_view text);

}  // namespace lanista::runtime
