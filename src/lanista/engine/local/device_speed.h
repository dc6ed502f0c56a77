#pragma once

#include <cstdint>

#include "lanista/base/clock.h"
#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/engine/core/executor.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/plan/grouping/device_choice.h"
#include "lanista/plan/grouping/plan.h"

namespace lanista::runtime {

/// How fast a device trains trials like this one, in samples times the flops of their steps a second: for some tenths
/// of a second alone, and where the device has many lanes with as many beside it as the machine says. Workers are taken
/// to be as fast as one of them alone. What the trial would do beside its steps (tuning, choosing examples) it does
/// not. Errors: those of train::LaneGroup::create and TrialRun::create; kInternal (a step failed: why).
Result<schedule::DeviceSpeed> device_speed(const engine::Job& like, const data::Dataset& data,
                                           const nn::Operators& operators, const nn::Backend& backend,
                                           const schedule::Machine& machine, const Clock& clock);

/// Whether the device has what a job asks for; whatever else hinders it, memory say, is seen when it trains.
bool can_train(const engine::Job& job, const data::Dataset& data, const nn::Operators& operators,
               const nn::Backend& backend);

}  // namespace lanista::runtime
