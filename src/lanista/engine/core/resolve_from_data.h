#pragma once

#include <span>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/metric.h"

namespace lanista::engine {

/// Replaces, in `config`, the settings that depend on the data, and checks that the other settings fit the data.
///
/// - `model.base: builtin:auto` becomes all built-in base models that accept the data, unless there is a blueprint.
/// - `data.targets: auto` becomes the chosen form of numeric targets.
/// - Label smoothing leaves the space if the targets are no classes, unless another parameter depends on it.
/// - A budget in steps gets the steps of its epochs, and epochs; `train.all_rows_at` is limited to these epochs.
/// - A missing goal becomes the best validation accuracy (classes) or the lowest validation loss (other targets).
/// - Missing metrics become the usual one, with task=next_token also perplexity. Metrics that goals, constraints and
///   the stopping rule name are added.
///
/// A second call changes nothing. `own_metrics` are metrics that the caller defines. Errors: kInvalidArgument (a
/// setting that does not fit the data) with the key in `where`. The message has the value found and the allowed values.
Result<void> resolve_from_data(study::StudyConfig& config, const data::DataSpec& data,
                               std::span<const study::Metric> own_metrics = {});

/// Returns warnings, one line each, on measured metrics that a part of the data does not define, with metric, part and
/// class. `config` is resolved. Errors: kInvalidArgument if a goal or stop.on is one of them on the validation part, so
/// that no trial could be ranked; `where` is the key.
Result<std::vector<std::string>> check_metrics_defined(const study::StudyConfig& config, const data::Dataset& data,
                                                       std::span<const study::Metric> own_metrics = {});

}  // namespace lanista::engine
