#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::study {

/// "accuracy" is 1 and "top<k>" is k (k >= 2): a label counts if it is among the k most likely. "mae", a metric of
/// numbers, is 0. nullopt: no metric of ours.
std::optional<std::int64_t> metric_rank(std::string_view name);

/// Whether a metric suits targets of `classes` classes (0: numbers). "loss" is always measured and not asked for by
/// name. Errors: kInvalidArgument naming the metric and what is allowed.
Result<void> check_metric(std::string_view name, std::int64_t classes);

/// What is measured where nothing is asked for: accuracy of classes, mae of numbers.
std::vector<std::string> default_metrics(std::int64_t classes);

}  // namespace lanista::study
