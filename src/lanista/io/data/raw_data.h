#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/io/data/spec.h"

namespace lanista::data {

/// Rows as numbers, without a split.
struct RawData {
  DataSpec spec;                           ///< What is known of the data set so far.
  std::vector<float> features;             ///< Numbers [rows, features…].
  std::vector<std::int32_t> labels;        ///< Classes [rows, labels_per_sample], or empty.
  std::vector<float> targets;              ///< Numbers [rows, target_size] in the unit of the source, or empty.
  std::vector<float> weights;              ///< Weights in the training loss [rows], or empty.
  std::vector<float> holdout_loss;         ///< Losses under a model that has not trained on the row [rows], or empty.
  std::vector<std::string> names;          ///< Names such as file names [rows], or empty.
  std::int64_t missing = 0;                ///< Cells without a value, which the stored rule fills.
  std::int64_t unknown = 0;                ///< Cells with categories that training did not have.
  std::vector<std::string> data_warnings;  ///< Sentences for the user.

  /// Number of rows.
  std::int64_t rows() const { return static_cast<std::int64_t>(features.size()) / spec.features.elements_per_sample(); }
};

/// Checks the numbers against the specification. Errors: kDataLoss with the row (a number that is not finite, a label
/// outside the classes, a weight below 0).
Result<void> check_numbers(const RawData& raw);

}  // namespace lanista::data
