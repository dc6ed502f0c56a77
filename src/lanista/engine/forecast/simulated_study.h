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

/// A made-up loss of configuration `number` after `budget` epochs of training; smaller is better. The curve falls with
/// the inverse square root of the budget to a last value, with noise. It is a function of the arguments: `rng` is not
/// changed.
double synthetic_loss(const Rng& rng, std::int64_t number, std::int64_t budget);

/// Predicts the duration of a whole study on the cluster `on`. The study's own strategy and stopping rule propose,
/// pause, resume and end trials (SearchDriver). Each stretch of training between two decisions needs its predicted time
/// under the scheduler. Measured values are synthetic_loss with the study's seed, so the set of surviving trials is an
/// example. Nothing is trained.
///
/// The number of trials is that of `request`, else that of the budget, else the number of slots. A budget in steps or
/// minutes ends nothing here, and pruning rules prune nothing. Measured values of `request.known` replace values that
/// the cluster file leaves out. Bounds use the same stretches, as if no trial waited for another.
///
/// Errors: those of check_config (kInvalidArgument), of the model space, the strategy and plan::simulate (kOutOfRange,
/// kInvalidArgument, kResourceExhausted, kFailedPrecondition), kResourceExhausted (there is nothing to propose, or a
/// trial needs more memory than a worker has).
Result<Forecast> forecast_study(const study::StudyConfig& config, const data::DataSpec& data,
                                std::shared_ptr<const mutate::ModelSpace> models, const PlanRequest& request,
                                const ClusterFile& on);

}  // namespace lanista::engine
