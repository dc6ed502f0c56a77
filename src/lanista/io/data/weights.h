#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/raw_data.h"
#include "lanista/search/study/config.h"

namespace lanista::data {

/// The weight of each row of the data set in the training loss: the weight in its source times the weight of its class,
/// divided by the mean over the training rows `train`.
///
/// A weight that is absent is 1. Without weights of rows and of classes the result is empty. The division keeps the
/// meaning of the learning rate, and makes the loss over the training part the weighted mean. `balanced` gives all
/// classes of the training part equal sums of class weights, whatever the rows weigh: rows / (classes with rows * rows
/// of the class), as scikit-learn's compute_class_weight. Errors: kInvalidArgument (weights of classes without classes,
/// or with a label at every position; an unknown class; a weight outside of 0 to study::kMaxClassWeight); kDataLoss
/// (all training rows have weight 0). `where` is the setting of the study if classes have weights.
Result<std::vector<float>> row_weights(const RawData& raw, std::span<const std::int64_t> train,
                                       const study::ClassWeights& classes);

}  // namespace lanista::data
