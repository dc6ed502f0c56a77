#pragma once

#include <functional>

#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/engine/core/executor.h"
#include "lanista/io/store/checkpoints.h"
#include "lanista/exec/train/trainer.h"

namespace lanista::runtime {

/// Trains a job alone, from the beginning through `epochs` epochs: what the study did with it, to the bit. `on_epoch`
/// is told each measurement, `checkpoints` hold the weights of the job's frozen part and the state it starts from, if
/// it has such. Errors: those of a trainer, of FrozenParts and of read_start.
struct RepeatedTrial {
  train::TrainerState state;
  std::vector<study::Measurement> measurements;
  Digest hash;  ///< of the state, as an outcome's weights_hash
};
Result<RepeatedTrial> repeat_trial(const engine::Job& job, std::int64_t epochs, const std::vector<std::string>& metrics,
                                   const data::Dataset& data,
                                   const std::function<void(const study::Measurement&)>& on_epoch,
                                   const nn::Operators& operators = {},
                                   const store::CheckpointStore* checkpoints = nullptr);

/// Of a device by its name (Job::device). Errors: whatever it is missing.
using FindBackend = std::function<Result<const nn::Backend*>(const std::string& device)>;

/// The same of a trial that went on from others' states: the stretches of its line (engine::lineage_jobs), each from
/// the state of the one before. Measurements are those of the line, each in the name of who trained it, so that they
/// are the trial's own from its last fork on. Each is trained on the device that its job names, if there are
/// `backends`. Errors: those of repeat_trial and of `backends`.
Result<RepeatedTrial> repeat_lineage(const std::vector<engine::LineageSegment>& line, const std::vector<std::string>& metrics,
                                  const data::Dataset& data,
                                  const std::function<void(const study::Measurement&)>& on_epoch,
                                  const nn::Operators& operators = {},
                                  const store::CheckpointStore* checkpoints = nullptr,
                                  const FindBackend& backends = {});

}  // namespace lanista::runtime
