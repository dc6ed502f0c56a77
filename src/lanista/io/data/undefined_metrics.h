#pragma once

#include <string>
#include <vector>

#include "lanista/io/data/dataset.h"
#include "lanista/search/study/metric.h"

namespace lanista::data {

/// A metric without a value on a part, whatever the predictions are.
struct UndefinedMetric {
  std::string metric;  ///< Name of the metric, such as "roc_auc".
  Part part = Part::kValidation;
  std::string reason;  ///< Text for the user: "the validation part has no row of class \"rare\"".
};

/// Returns those of `metrics` that are NaN on the validation or test part because a class, or a label, has no row there
/// or all rows. With folds the validation part of each fold counts. A part without rows is left out. `own` are metrics
/// of the caller. Each pair of a metric and a part is listed once, with the first class.
std::vector<UndefinedMetric> undefined_metrics(const Dataset& set, const std::vector<std::string>& metrics,
                                               std::span<const study::Metric> own = {});

/// Returns a warning for each part that has rows of one class only, or no row of a class or label that another part
/// has. With folds the parts of each fold count, and the first fold is named. Texts have no such warnings for classes
/// without a row, since most tokens are rare. Empty without classes and labels, and with the first rules of studies.
std::vector<std::string> part_class_warnings(const Dataset& set);

/// The name of a class in messages, in quotes if it has one: class "rare", or class 2.
std::string class_text(const DataSpec& spec, std::size_t index);

}  // namespace lanista::data
