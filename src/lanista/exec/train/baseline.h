#pragma once

#include <span>
#include <string>
#include <vector>

#include "lanista/io/data/dataset.h"
#include "lanista/search/study/baseline.h"
#include "lanista/search/study/metric.h"

namespace lanista::train {

/// Most features of a row for which a linear model and trees are fitted.
inline constexpr std::int64_t kMaxFeatures = 1000;

/// Returns the results that a search must beat, measured like trials ("val_…") and on the test part ("test_…").
///
/// - "constant": every row gets the class or label frequencies of the training part, or the mean of its targets.
/// - "linear": ridge_model for numbers, logistic_model for classes and labels. Left out for tokens and for more than
///   kMaxFeatures features. With `normalize: none` each feature is divided by its deviation first.
/// - "trees": boosted_trees for features without positions (tables), of 20 to 100 rounds.
///
/// All is computed in float64 in one order, and the result depends on the data only. A linear model needs at most about
/// 2e9 operations, trees 1e8. Above that, they have fewer iterations or rounds, or every k-th training row is used; if
/// these are fewer than two a feature, the model is left out. Empty if the predictions for validation and test part
/// exceed 1e8 numbers. With data.folds: the mean over the first ten folds. `loss`, `metrics` and `own` are as in
/// Evaluation; they must suit the targets, else this throws.
std::vector<study::Baseline> baselines(const data::Dataset& set, const std::string& loss,
                                       const std::vector<std::string>& metrics,
                                       std::span<const study::Metric> own = {});

}  // namespace lanista::train
