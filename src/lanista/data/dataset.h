#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/graph/shape.h"
#include "lanista/study/config.h"

namespace lanista::data {

/// What a data set is, apart from its numbers.
struct DataSpec {
  std::string name;                 ///< "digits"
  std::string source;               ///< as in the study file
  std::string licence;              ///< "CC BY 4.0", or empty
  graph::Shape features;            ///< of one sample, no batch: [64] or [1, 8, 8]
  std::int64_t classes = 0;         ///< 0: targets are numbers
  std::int64_t target_size = 1;     ///< numbers per sample when classes == 0
  std::vector<std::string> labels;  ///< class names, may be empty
  std::int64_t rows = 0;
  std::array<std::int64_t, 3> split_rows{};  ///< train, validation, test
  Digest hash;                               ///< of all numbers and the split; part of the study's identity
  double mean = 0, scale = 1;  ///< features were normalised as (x - mean) / scale, fitted on the training part
  std::vector<double> feature_mean, feature_scale;  ///< the same for each feature (tables); empty: mean and scale
  nlohmann::json schema;  ///< how raw rows become features ("columns", "target"), for tables; null otherwise
};
/// The specification as the log and the model package hold it.
nlohmann::json spec_json(const DataSpec& spec);

enum class Part { kTrain, kValidation, kTest };

/// A data set in memory, normalised, split. Immutable; many threads may read it.
class Dataset {
 public:
  const DataSpec& spec() const { return spec_; }
  /// Row numbers (into features and targets) of a part, ascending.
  const std::vector<std::int64_t>& rows(Part part) const { return rows_[static_cast<std::size_t>(part)]; }
  /// Copies the features of `rows` one after the other: [rows.size(), features…].
  void gather_features(std::span<const std::int64_t> rows, std::span<float> out) const;
  void gather_labels(std::span<const std::int64_t> rows, std::span<std::int32_t> out) const;
  void gather_targets(std::span<const std::int64_t> rows, std::span<float> out) const;

  /// From raw numbers; used by every reader and by tests. `labels` or `targets` is empty. Of `spec`, name, source,
  /// licence, features, classes, target_size, labels, schema are read; the rest is found. One mean and one scale are
  /// fitted for all features unless feature_mean and feature_scale are given. Errors: kInvalidArgument (the split, or a
  /// part without rows), kDataLoss (numbers that are not finite, labels outside the classes; which row).
  static Result<Dataset> make(DataSpec spec, std::vector<float> features, std::vector<std::int32_t> labels,
                              std::vector<float> targets, const study::DataConfig& config);

 private:
  DataSpec spec_;
  std::vector<float> features_;
  std::vector<std::int32_t> labels_;
  std::vector<float> targets_;
  std::array<std::vector<std::int64_t>, 3> rows_;
};

/// Opens `config.source`: builtin:digits | npy:X.npy,Y.npy | csv:FILE?target=COL | synthetic:KIND?rows=…&…; relative
/// paths are relative to `folder`. The split is a seeded stratified shuffle (seed fixed by the data, not by the study's
/// seed). Errors: kNotFound, kInvalidArgument (source notation), kDataLoss (a file that breaks a rule: which, where).
Result<Dataset> open(const study::DataConfig& config, const std::string& folder, FileSystem& fs);

/// The samples of an epoch in training order: a function of data seed and epoch alone.
std::vector<std::int64_t> epoch_order(const std::vector<std::int64_t>& rows, std::uint64_t data_seed,
                                      std::int64_t epoch);

}  // namespace lanista::data
