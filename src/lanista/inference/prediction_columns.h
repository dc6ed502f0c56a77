#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lanista/io/data/spec.h"

// The numbers of a prediction as a user reads them.
namespace lanista::runtime {

/// The name of a class or a label, or its number if the data set has no names.
std::string class_name(const data::DataSpec& data, std::size_t index);

/// Names of the numbers of a prediction: "p_<class>" or "p_<label>" for probabilities, "prediction" for the number of a
/// single target, "prediction_<target>" for several.
std::vector<std::string> prediction_columns(const data::DataSpec& data);

/// The numbers under these names, from the outputs of Predictor for one label or one sample: probabilities of classes
/// (softmax) or of labels (sigmoid), or the targets unchanged.
std::vector<double> prediction_values(const data::DataSpec& data, std::span<const double> outputs);

}  // namespace lanista::runtime
