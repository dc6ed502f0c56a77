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

/// All that a process has to know to be a place of another one's steps. A value that can be sent, as messages are.
struct StageTask {
  std::string model;  ///< graph::to_text
  step::StepOptions step;
  std::string build;  ///< engine::build_fingerprint() of who tells it
  std::string isa;
  Precision precision = Precision::kFloat32;
  std::int64_t max_batch = 1, shards = 1, accumulate = 1;
  nn::Stages stages;  ///< without observer and others' places
  // Of the place and the memory at hand:
  std::uint64_t number = 0;  ///< which the answer brings back
  std::uint64_t rank = 0;
  std::string memory;  ///< path of it; empty: stages.apart
  std::int64_t bytes = 0;
  Digest digest;  ///< that the program must have
};

std::string encode(const StageTask& task);
/// The inverse. Errors: kDataLoss (no task: what is missing or wrong).
Result<StageTask> decode_stage_task(std::string_view text);

}  // namespace lanista::runtime
