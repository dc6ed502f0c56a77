#pragma once

#include <cstdint>
#include <span>

#include "lanista/exec/program/chunk.h"
#include "lanista/exec/train/trial_run.h"

namespace lanista::train {

/// Returns the hyper-parameters of one update of a run. `ahead` is the number of updates before it, after the current
/// state. The spans of the result are valid until a group admits the run again.
program::LaneHyper hyper_of(const TrialRun& run, std::int64_t ahead);

/// Returns the training rows, in order, of the update that follows `ahead` updates after the current state. They are
/// rows of the current data pass (TrainingRows::begin_pass), before example selection.
std::span<const std::int64_t> rows_of(const TrialRun& run, std::int64_t ahead);

/// True if the next updates of two runs read the same rows with the same augmentation, so one batch serves both. False
/// if a run selects examples.
bool shares_batch(const TrialRun& run, const TrialRun& other);

/// Returns the number of updates that a run may train in one chunk, up to the end of its plan. It is 1 if the run
/// selects examples. With an adaptive batch, an update that is measured for gradient noise is a chunk of its own.
std::int64_t max_updates_in_chunk(const TrialRun& run);

/// True if the gradient noise of the next update is measured; false for runs without an adaptive batch.
bool measures_gradient_noise(const TrialRun& run);

/// Returns the number of batches that renew running statistics before the current epoch is measured; 0: none.
std::int64_t recalibration_of(const TrialRun& run);

}  // namespace lanista::train
