#pragma once

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/model/space/domain.h"

namespace lanista::studyfile {

/// The search space of the settings that a trial may change while it trains: `params` of the tuner mltuner of
/// train.tune, in the order of study::tunable_names(). Errors: kInvalidArgument with "params" in `where` (no setting),
/// or "params.NAME" (a setting that cannot change in training, an invalid domain, a value that a recipe does not
/// accept).
Result<space::SearchSpace> tune_space(const Options& options);

}  // namespace lanista::studyfile
