#pragma once

#include <cstdint>
#include <span>

#include "lanista/exec/program/chunk.h"
#include "lanista/exec/train/trial_run.h"

namespace lanista::train {

/// Returns the hyper-parameters of the update that is `ahead` updates after the next one of a run. Its spans are valid
/// until a group admits the run again.
nn::LaneHyper hyper_of(const TrialRun& run, std::int64_t ahead);

/// Returns the rows of the update that is `ahead` updates after the next one, in the current data pass.
std::span<const std::int64_t> rows_of(const TrialRun& run, std::int64_t ahead);

/// Whether the next updates of two runs read the same rows.
bool shares_batch(const TrialRun& run, const TrialRun& other);

/// Returns the number of updates that a run may train in one chunk, up to the end of its plan. It is 1 if the run
/// selects examples. With an adaptive batch, an update that is measured for gradient noise is a chunk of its own.
std::int64_t max_updates_in_chunk(const TrialRun& run);

/// Whether the gradient noise of the next update is measured.
bool measures_gradient_noise(const TrialRun& run);

/// Returns the number of batches that renew running statistics before the current epoch is measured.
std::int64_t recalibration_of(const TrialRun& run);

}  // namespace lanista::train
