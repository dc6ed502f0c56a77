#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/io/data/spec.h"

namespace lanista::data {

/// Rows as numbers, not split.
struct RawData {
  DataSpec spec;
  std::vector<float> features;       ///< [rows, features…]
  std::vector<std::int32_t> labels;  ///< [rows, labels_per_sample], or empty
  std::vector<float> targets;        ///< [rows, target_size] in their own unit, or empty
  std::vector<float> weights;        ///< [rows] how much a row counts in training, as the source has it; or empty
  std::vector<float> holdout_loss;        ///< [rows] loss under a model that has not trained on the row; or empty
  std::vector<std::string> names;    ///< [rows], file names for instance; or empty
  std::int64_t missing = 0;          ///< cells without a value, filled by the stored rule
  std::int64_t unknown = 0;          ///< categories that training had not seen
  std::vector<std::string> data_warnings;  ///< what may not have been meant, and what to do about it

  std::int64_t rows() const { return static_cast<std::int64_t>(features.size()) / spec.features.elements_per_sample(); }
};

/// Whether the numbers are what the specification says. Errors: kDataLoss (a number that is not finite, a label outside
/// the classes, a weight below 0; which row).
Result<void> check_numbers(const RawData& raw);

}  // namespace lanista::data
