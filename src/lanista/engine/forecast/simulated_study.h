#pragma once

#include <cstdint>
#include <memory>
#include <optional>

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

/// The number of trials that train their whole schedule.
struct LastRungForecast {
  std::int64_t trials = 0;  ///< Trials that begin, at most those of the budget.
  std::int64_t to_end = 0;  ///< Trials of them that train to the last epoch.
  std::int64_t epochs = 0;  ///< Number of that epoch.
};
/// Largest number of trials that forecast_last_rung() simulates.
inline constexpr std::int64_t kMaxForecastTrials = 1024;
/// Simulates a study with rungs (stop.rule asha, successive_halving or hyperband, or strategy dehb) within its budget
/// of trials and steps, and counts the trials that train to the end. Results are made up as in forecast_study(), so
/// only numbers are of use. A strategy without rungs of its own is replaced by random search. nullopt: the study has no
/// rungs. Nothing is trained.
///
/// Errors: those of check_config (kInvalidArgument), of the model space and the strategy; kFailedPrecondition if no
/// trial trains to the end, with the setting to change in the message and its key in `where`.
Result<std::optional<LastRungForecast>> forecast_last_rung(const study::StudyConfig& config, const data::DataSpec& data,
                                                           std::shared_ptr<const mutate::ModelSpace> models);

}  // namespace lanista::engine
