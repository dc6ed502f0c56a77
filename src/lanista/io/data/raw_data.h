#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/io/data/reading_decision.h"
#include "lanista/io/data/spec.h"

namespace lanista::data {

/// The rows of a source as numbers, without a split. Features are not normalised, except in results of read_raw().
/// Vectors are row-major.
struct RawData {
  DataSpec spec;                ///< Description; which fields are set depends on the producer.
  std::vector<float> features;  ///< Features [rows, features…], less spec.origin.
  /// Class numbers from 0 [rows, labels_per_sample], or empty. From read_raw() also kNoLabel.
  std::vector<std::int32_t> labels;
  /// Numbers or labels [rows, target_size] in the unit of the source, less spec.target_origin, or empty. From
  /// read_raw() also kNoTarget.
  std::vector<float> targets;
  /// The numbers of `features` and `targets` in double, if float32 changes one of them; else empty. They exist until
  /// the split is known, which decides about origins (origin.h).
  std::vector<double> exact_features, exact_targets;
  /// True: the source holds its features, or its targets, as float32, so that a finer reading cannot exist.
  bool float32_features = false, float32_targets = false;
  /// True: each feature is a column of a table without names and gets a mean and a deviation of its own. It is false
  /// for tables with names, of which `spec.schema` has the statistics.
  bool has_feature_columns = false;
  std::vector<float> weights;              ///< Weights in the training loss [rows], or empty.
  std::vector<std::string> names;          ///< Names such as file names [rows], or empty.
  std::int64_t missing = 0;                ///< Number of cells of a table without a value.
  std::int64_t unknown = 0;                ///< Number of cells with a category that the columns do not know.
  std::vector<std::string> data_warnings;  ///< Texts for the user, one line each.
  std::vector<ReadingDecision> decisions;  ///< How ambiguous input is read.

  /// Number of rows.
  std::int64_t rows() const { return static_cast<std::int64_t>(features.size()) / spec.features.elements_per_sample(); }
};

/// Checks the numbers of `raw` against raw.spec. NaN is allowed in features if a column keeps missing values. Errors:
/// kDataLoss with the row, from 0: a class outside the classes, a label other than 0 and 1, a weight below 0, no token
/// number, or another number that is not finite.
Result<void> check_numbers(const RawData& raw);

}  // namespace lanista::data
