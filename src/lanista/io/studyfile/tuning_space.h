#pragma once

#include <cstdint>

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/model/space/domain.h"
#include "lanista/search/study/rules.h"

namespace lanista::studyfile {

/// The search space of the settings that a trial may change while it trains: `params` of the tuner mltuner of
/// train.tune, in the order of study::tunable_names(). Errors: kInvalidArgument with "params" in `where` (no setting),
/// or "params.NAME" (a setting that cannot change in training, an invalid domain, a value that a recipe does not
/// accept). A range quant() is read by `rules`, unless its text states them as explicit_domain_text() does.
Result<space::SearchSpace> tune_space(const Options& options, std::int64_t rules = study::kFirstRules);

}  // namespace lanista::studyfile
