#pragma once

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/model/space/domain.h"

namespace lanista::studyfile {

/// What a trial may change of itself: `params` of train.tune's mltuner, in the order of study::tunable_names(). Errors:
/// kInvalidArgument, `where` being "params.NAME": what cannot change in training, a domain that is none, a value that a
/// recipe does not take.
Result<space::SearchSpace> tune_space(const Options& options);

}  // namespace lanista::studyfile
