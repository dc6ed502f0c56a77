#pragma once

#include <functional>

#include "lanista/base/result.h"
#include "lanista/engine/core/executor.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/store/checkpoints.h"

namespace lanista::runtime {

/// Result of a repeated training.
struct RepeatedTrial {
  train::TrainerState state;                     ///< State after its last epoch, with the selected weights.
  std::vector<study::Measurement> measurements;  ///< Measurements of all its epochs, in order.
  Digest hash;                                   ///< Hash of the state, as Outcome::weights_hash of the study.
};
/// Trains a job again, alone, on the CPU backend, from the beginning through `epochs` epochs, to bits equal to the
/// study's. Job::checkpoint is not used, and the job must have no fork. `on_epoch` receives each
/// measurement as it is made. `checkpoints` holds the frozen weights and the start; null if the job has neither.
///
/// Errors: those of the trainer, of FrozenParts and of read_start (kNotFound, kDataLoss, kInvalidArgument,
/// kResourceExhausted), kInternal (an exception).
Result<RepeatedTrial> repeat_trial(const engine::Job& job, std::int64_t epochs, const std::vector<std::string>& metrics,
                                   const data::Dataset& data,
                                   const std::function<void(const study::Measurement&)>& on_epoch,
                                   const program::Operators& operators = {},
                                   const store::CheckpointStore* checkpoints = nullptr);

/// Gives the backend of a device by its name (Job::device). Errors: the device is not available.
using FindBackend = std::function<Result<const program::Backend*>(const std::string& device)>;

/// Repeats a trial with forks: the segments of its lineage (engine::lineage_jobs) in order, each from the state at the
/// end of the one before. There must be a segment, and the first has no fork. Each measurement names the trial that
/// trained the segment. With `backends` each segment runs on the device of its job; else on the CPU backend. Errors:
/// those of repeat_trial and of `backends`.
Result<RepeatedTrial> repeat_lineage(const std::vector<engine::LineageSegment>& line,
                                     const std::vector<std::string>& metrics, const data::Dataset& data,
                                     const std::function<void(const study::Measurement&)>& on_epoch,
                                     const program::Operators& operators = {},
                                     const store::CheckpointStore* checkpoints = nullptr,
                                     const FindBackend& backends = {});

}  // namespace lanista::runtime
