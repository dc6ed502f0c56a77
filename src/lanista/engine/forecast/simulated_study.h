#pragma once

#include <cstdint>
#include <memory>

#include "lanista/base/result.h"
#include "lanista/base/rng.h"
#include "lanista/engine/forecast/forecast.h"
#include "lanista/engine/forecast/study_plan.h"
#include "lanista/io/data/spec.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/config.h"

namespace lanista::engine {

/// A made-up loss of configuration `number` after `budget` units of training. The curve is a power of the budget that
/// falls to a last value, with noise, all sampled with `rng`. Smaller is better.
double synthetic_loss(const Rng& rng, std::int64_t number, std::int64_t budget);

/// Predicts the duration of a whole study on a cluster. The study's own strategy and stopping rule propose, pause,
/// resume and end trials (SearchDriver). Each stretch between two decisions needs its predicted time under the
/// scheduler. Measured values are synthetic_loss with the study's seed, so the set of surviving trials is an example.
/// Nothing is trained.
///
/// The number of trials is that of the budget or of `request`; without both, the number of slots. A budget in steps or
/// minutes ends nothing here. Bounds use the same stretches, as if no trial waited for another. Errors: those of the
/// model space, strategy, predictions and schedule::simulate, kResourceExhausted (there is nothing to propose).
Result<Forecast> forecast_study(const study::StudyConfig& config, const data::DataSpec& data,
                                std::shared_ptr<const mutate::ModelSpace> models, const PlanRequest& request,
                                const ClusterFile& on);

}  // namespace lanista::engine
