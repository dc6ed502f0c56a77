#pragma once

#include <span>
#include <string>
#include <vector>

#include "lanista/io/data/dataset.h"
#include "lanista/search/study/baseline.h"
#include "lanista/search/study/metric.h"

namespace lanista::train {

/// What a search has to beat, measured as trials are ("val_…"), and on the test part ("test_…"):
/// - "constant": the frequencies of the training part's classes or labels, or the mean of its targets, for every row;
/// - "linear": least squares with a little ridge (a thousandth of the features' mean square) on the training part; of
///   classes and labels on zeros and ones, and the sums (of labels: above a half) are scaled to the least training
///   cross-entropy. Left out of tokens, of more
///   than kMaxFeatures features, and where the rows that the work allows are fewer than two a feature.
/// In float64 and one order: a function of the data alone. Work: rows x features x (features + outputs), at most some 2e9
/// operations; beyond that every k-th training row is taken. Nothing where predictions of the validation and the test
/// part are more than 1e8 numbers. With data.folds: the mean over trainings as trials have them, the first ten.
inline constexpr std::int64_t kMaxFeatures = 1000;
std::vector<study::Baseline> baselines(const data::Dataset& set, const std::string& loss,
                                       const std::vector<std::string>& metrics,
                                       std::span<const study::Metric> own = {});

}  // namespace lanista::train
