#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lanista/io/data/spec.h"

// The numbers of a prediction as a user reads them.
namespace lanista::inference {

/// The name of the class with this index from 0, or the index as text if the data set has no name for it.
std::string class_name(const data::DataSpec& data, std::size_t index);

/// Names of the numbers of one prediction, in order. They are "p_<class>" or "p_<label>" for probabilities of classes
/// or labels, "prediction" for the number of a single target, and "prediction_<target>" for several targets.
std::vector<std::string> prediction_columns(const data::DataSpec& data);

/// The numbers for the columns of prediction_columns, from the outputs of Predictor for one sample or one position.
/// They are probabilities of classes (softmax), probabilities of labels (sigmoid), or targets in their own unit: the
/// outputs with data.target_origin added.
std::vector<double> prediction_values(const data::DataSpec& data, std::span<const double> outputs);

}  // namespace lanista::inference
