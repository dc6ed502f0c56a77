#pragma once

#include <span>
#include <string>
#include <vector>

#include "lanista/io/data/dataset.h"
#include "lanista/search/study/baseline.h"
#include "lanista/search/study/metric.h"

namespace lanista::train {

/// Most features of a row for which the linear baseline is computed.
inline constexpr std::int64_t kMaxFeatures = 1000;

/// Returns the results that a search must beat, measured like trials ("val_…") and on the test part ("test_…").
///
/// - "constant": every row gets the class or label frequencies of the training part, or the mean of its targets.
/// - "linear": ridge regression on the training part. The ridge is a thousandth of the mean, over features,
///   of the sum of squared deviations from their mean. Classes and labels are fitted as zeros and ones. The scores (for
///   labels: less a half) are scaled to the least training
///   cross-entropy. Left out for tokens and for more than kMaxFeatures features.
///
/// All is computed in float64 in one order, and the result depends on the data only. The work of "linear" is rows x
/// features x (features + outputs), at most about 2e9 operations. Above that, every k-th training row is used; if these
/// are fewer than two a feature, "linear" is left out. Empty if the predictions for validation and test part exceed 1e8
/// numbers. With data.folds: the mean over the first ten folds. `loss`, `metrics` and `own` are as in Evaluation; they
/// must suit the targets, else this throws.
std::vector<study::Baseline> baselines(const data::Dataset& set, const std::string& loss,
                                       const std::vector<std::string>& metrics,
                                       std::span<const study::Metric> own = {});

}  // namespace lanista::train
