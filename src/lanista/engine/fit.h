#pragma once

#include "lanista/base/result.h"
#include "lanista/data/dataset.h"
#include "lanista/study/config.h"

namespace lanista::engine {

/// Settles what a study file left to the data, and checks that the rest suits it: `model.base: builtin:auto` becomes
/// every built-in base that takes such data; no goal becomes the best accuracy (classes) or the least loss (numbers);
/// no metrics become the usual one; goals and the stopping rule must name something that is measured. Doing it twice
/// changes nothing. Errors: kInvalidArgument with the key in `where`, what was seen and what is allowed.
Result<void> fit_to_data(study::StudyConfig& config, const data::DataSpec& data);

}  // namespace lanista::engine
