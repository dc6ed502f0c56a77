#pragma once

#include <cstdint>
#include <memory>

#include "lanista/base/result.h"
#include "lanista/base/rng.h"
#include "lanista/io/data/spec.h"
#include "lanista/engine/forecast/forecast.h"
#include "lanista/engine/forecast/study_plan.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/config.h"

namespace lanista::engine {

/// A made-up loss of configuration `number` at `budget` of whatever unit: a curve of its own, drawn with `rng`, towards
/// a last value, by a power of the budget, with noise. Smaller is better.
double synthetic_loss(const Rng& rng, std::int64_t number, std::int64_t budget);

/// What a whole study would take on a cluster: its own strategy and stopping rule ask for trials, pause, resume and end
/// them (SearchDriver), each stretch between two decisions takes its predicted time under the scheduler, and what
/// trials measure is made up (synthetic_loss with the study's seed), so which of them go on is an example. Nothing is
/// trained. Trials are those of the budget, or request.trials; where neither is said, as many as the study has slots; a
/// budget in steps or minutes ends nothing here. Bounds are of the same stretches as if no trial waited for another.
/// Errors: those of models, strategy and predictions, and of schedule::simulate; kResourceExhausted if there is nothing
/// to propose.
Result<Forecast> forecast_study(const study::StudyConfig& config, const data::DataSpec& data,
                                std::shared_ptr<const mutate::ModelSpace> models, const PlanRequest& request,
                                const ClusterFile& on);

}  // namespace lanista::engine
