#pragma once

#include <cstdint>

#include "lanista/base/clock.h"
#include "lanista/base/result.h"
#include "lanista/engine/core/executor.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/io/data/dataset.h"
#include "lanista/plan/grouping/device_choice.h"
#include "lanista/plan/grouping/plan.h"

namespace lanista::runtime {

/// Measures how fast a device trains trials like this job, in work (samples x 3 x forward FLOPs) per second: with one
/// trial (`alone`), and with all workers busy (`together`). It times steps with one lane for at least 0.15 s. If the
/// device prefers many lanes, it also times them with the lanes of `machine`. All workers count as equally fast. Work
/// in addition to steps (tuning, selection of samples) is not measured.
///
/// Errors: those of train::LaneGroup::create (kInvalidArgument, kResourceExhausted, kUnimplemented) and
/// TrialRun::create (kInvalidArgument), kInternal (a step failed; the text has the reason), kResourceExhausted
/// (memory).
Result<plan::DeviceSpeed> device_speed(const engine::Job& like, const data::Dataset& data,
                                       const program::Operators& operators, const program::Backend& backend,
                                       const plan::Machine& machine, const Clock& clock);

/// True if the device has the operators and the precision of a job. Other limits, such as memory, appear only in
/// training. It compiles the program, which may need seconds.
bool can_train(const engine::Job& job, const data::Dataset& data, const program::Operators& operators,
               const program::Backend& backend);

}  // namespace lanista::runtime
