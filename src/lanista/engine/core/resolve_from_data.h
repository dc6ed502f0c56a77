#pragma once

#include <span>

#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/metric.h"

namespace lanista::engine {

/// Settles what a study file left to the data, and checks that the rest suits it: `model.base: builtin:auto` becomes
/// every built-in base that takes such data; `data.targets: auto` what became of targets that are numbers; label
/// smoothing leaves the space where targets are numbers; a budget in steps gets the steps of its epochs, and epochs;
/// `train.all_rows_at` is no more than these; no goal becomes the best accuracy (classes) or the least loss (numbers);
/// no metrics become the usual one, and those that goals, constraints and the stopping rule name are added; what these
/// name must be measured. Doing it twice changes nothing. `own_metrics` are the caller's. Errors: kInvalidArgument with
/// the key in `where`, what was seen and what is allowed.
Result<void> resolve_from_data(study::StudyConfig& config, const data::DataSpec& data,
                         std::span<const study::Metric> own_metrics = {});

}  // namespace lanista::engine
