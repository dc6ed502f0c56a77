#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/raw_data.h"
#include "lanista/search/study/config.h"

namespace lanista::data {

/// How much each row counts in the training loss: the weight that its source has for it times that of its class, both
/// 1 where nothing is said, divided by the mean of the training rows; so the learning rate means what it means without
/// weights, and over the training part the loss is the weighted mean. Empty where neither is said.
/// `balanced` gives the classes of the training part equal sums: rows / (classes * rows of the class), as scikit-learn's
/// compute_class_weight. Errors, `where` a setting of the study: kInvalidArgument (weights of classes for targets that
/// are none; a class that is not there; one that is no number from 0 to study::kMaxClassWeight); kDataLoss (all
/// training rows weigh 0).
Result<std::vector<float>> row_weights(const RawData& raw, std::span<const std::int64_t> train,
                                       const study::ClassWeights& classes);

}  // namespace lanista::data
