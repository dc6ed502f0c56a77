#pragma once

#include <span>

#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/metric.h"

namespace lanista::engine {

/// Replaces the settings of a study file that depend on the data, and checks that the other settings fit them.
///
/// - `model.base: builtin:auto` becomes all built-in base models that accept the data.
/// - `data.targets: auto` becomes the chosen form of numeric targets.
/// - Label smoothing leaves the space if the targets are numbers.
/// - A budget in steps gets the steps of its epochs, and epochs; `train.all_rows_at` is limited to these epochs.
/// - A missing goal becomes the best accuracy (classes) or the lowest loss (numbers).
/// - Missing metrics become the usual one. Metrics that goals, constraints and the stopping rule name are added.
///
/// Applying it twice changes nothing. `own_metrics` are the caller's. Errors: kInvalidArgument with the key in `where`,
/// the value found and the allowed values.
Result<void> resolve_from_data(study::StudyConfig& config, const data::DataSpec& data,
                               std::span<const study::Metric> own_metrics = {});

}  // namespace lanista::engine
