#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/digest.h"
#include "lanista/base/precision.h"
#include "lanista/base/result.h"
#include "lanista/nn/stages.h"
#include "lanista/step/training_step.h"

namespace lanista::runtime {

/// All that a process has to know to be a place of another one's steps. A value that can be sent, as messages are.
struct StageTask {
  std::string model;  ///< graph::to_text
  step::StepOptions step;
  std::string isa;
  Precision precision = Precision::kFloat32;
  std::int64_t max_batch = 1, shards = 1, accumulate = 1;
  nn::Stages stages;  ///< without observer and others' places
  // Of the place and the memory at hand:
  std::uint64_t place = 0;
  std::string memory;  ///< path of it
  std::int64_t bytes = 0;
  Digest digest;  ///< that the program must have
};

/// Between a process and those at the other places of its pipelines.
enum class StageWire : std::uint16_t {
  kTask = 60,     ///< a StageTask; whatever was done before is over
  kTaken = 61,    ///< the place is waiting for steps
  kRefused = 62,  ///< why it cannot be; a text
};

std::string encode(const StageTask& task);
/// The inverse. Errors: kDataLoss (no task: what is missing or wrong).
Result<StageTask> decode_stage_task(std::string_view text);

}  // namespace lanista::runtime
