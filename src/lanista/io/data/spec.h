#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/io/data/normalization.h"
#include "lanista/model/graph/shape.h"
#include "lanista/search/study/metric.h"
#include "lanista/search/study/rules.h"

namespace lanista::data {

struct SampleStream;

/// The largest number of tokens of a vocabulary. Token numbers below it are exact as floats.
inline constexpr std::int64_t kMaxVocab = std::int64_t{1} << 20;

/// The description of a data set, without its samples.
struct DataSpec {
  std::string name;              ///< Short name for users: "digits".
  std::string source;            ///< The source as in the study file: "csv:iris.csv".
  std::string licence;           ///< Licence for users: "CC BY 4.0", or empty.
  graph::Shape features;         ///< Shape of one sample without the batch: [64] or [1, 8, 8].
  std::int64_t vocab = 0;        ///< Above 0: features are token numbers below it. 0: real numbers.
  std::int64_t classes = 0;      ///< Number of classes; 0: targets are numbers.
  std::int64_t positions = 0;    ///< Class labels of a sample, one for each token; 0: one label for a sample.
  std::int64_t target_size = 1;  ///< Number of targets of a sample if `classes` is 0.
  bool multilabel = false;       ///< True: each target is 0 or 1, 1 if the sample has that label.
  /// Rules by which samples are read, those of the study (study::DataConfig::rules).
  std::int64_t rules = study::kLatestRules;
  std::vector<std::string> labels;           ///< Class names by class number; may be empty.
  std::int64_t rows = 0;                     ///< Number of rows of all parts.
  std::array<std::int64_t, 3> split_rows{};  ///< Numbers of rows of train, validation, test.
  Digest hash;                  ///< Hash of samples, split and normalisation; part of the study's identity.
  Normalization normalization;  ///< Normalisation of features, fitted on the training part.
  /// For targets that are numbers: training uses (target - mean) / scale. It has one entry for each target, fitted on
  /// the training part. None: training uses targets unchanged.
  std::optional<Normalization> target_normalization;
  /// Numbers that are subtracted in double before a feature becomes float32, one for each entry of `normalization`.
  /// Empty: features are stored as they are. Means, minima and maxima are in the unit of the source (origin.h).
  std::vector<double> origin;
  /// The same for targets that are numbers, one for each target. Predictions as users read them have it added back.
  std::vector<double> target_origin;
  /// For tables: how raw rows become features: "columns" (columns_json()), "target" ("kind", and "name" or "names").
  /// The names of columns of row weights and hold-out losses, if there are any, are "weight" and "holdout". Otherwise
  /// null.
  nlohmann::json schema;
  std::shared_ptr<const SampleStream> stream;  ///< Source of features that are not in memory; null: all are in memory.
  /// With data.folds: the specification of each fold, in order; else empty. They differ in what depends on training
  /// rows: split_rows, hash, normalisations, and statistics and unseen categories of the schema. The specification that
  /// has `folds` equals the first of them except for its hash.
  std::vector<DataSpec> folds;

  /// The kind of targets that a model predicts: classes, labels or numbers.
  study::Targets targets() const { return multilabel ? study::Targets::multilabel() : study::Targets(classes); }
  /// Number of outputs of a model for one sample: labels_per_sample() times width().
  std::int64_t outputs() const { return labels_per_sample() * width(); }
  /// Number of class labels of one sample, if targets are classes; at least 1.
  std::int64_t labels_per_sample() const { return positions > 0 ? positions : 1; }
  /// Number of outputs for one label: the number of classes; or the number of targets of a sample.
  std::int64_t width() const { return classes > 0 ? classes : target_size; }
  /// The normalisation of features as they are stored, less `origin`.
  Normalization stored_normalization() const { return less_origin(normalization, origin); }
  /// The normalisation of targets as they are stored, less `target_origin`.
  std::optional<Normalization> stored_target_normalization() const {
    if (!target_normalization) return std::nullopt;
    return less_origin(*target_normalization, target_origin);
  }
  /// Shape of a model's output for one sample, without the batch: [width()], or [positions, width()].
  graph::Shape prediction() const { return {positions > 0 ? std::vector{positions, width()} : std::vector{width()}}; }
};

/// A copy of spec.folds[fold], or of `spec` if `fold` is none. Errors: kDataLoss (no such fold).
Result<DataSpec> training_spec(const DataSpec& spec, const std::optional<std::int64_t>& fold);

/// The specification as a JSON object for the log and the model package. Each field of DataSpec but `stream` is an
/// entry of its name: "features" is the list of sizes, "hash" is hexadecimal. These are absent if they are unset:
/// "rules" (the first rules), "vocab", "positions", "multilabel", "target_normalization", "origin", "target_origin",
/// "schema", "folds". A fold has "split_rows", "hash" and normalisations; for tables, where they differ, also "columns"
/// (means and scales) and "unseen" (feature indices).
nlohmann::json spec_json(const DataSpec& spec);

/// Reads what spec_json() wrote. Errors: kDataLoss (a missing or invalid entry, with its name).
Result<DataSpec> parse_spec(const nlohmann::json& json);

/// The names of the target columns of a table, in order; empty for anything but a table.
std::vector<std::string> target_names(const DataSpec& spec);

/// The number that replaces a missing one (NaN), one for each feature before normalisation. For a table these are the
/// means of the training rows, and 0 for features of categories; empty for anything but a table.
std::vector<double> missing_numbers(const DataSpec& spec);

/// Names of a table's features, in order: "area", for each category "quarter=north", for a date "built.year" and so on.
/// Empty for anything but a table.
std::vector<std::string> feature_names(const DataSpec& spec);

/// For each categorical column of a table, in order: the index of its first feature, and their number. Empty for
/// anything but a table.
std::vector<std::pair<std::int64_t, std::int64_t>> category_features(const DataSpec& spec);

/// A number as text with at most six significant digits, for users.
std::string short_number(double value);

/// A description of samples and targets as lines for users. For a table one line for each column (name, kind, range or
/// categories, missing and different values), one for each target, and one each for the columns of weights and hold-out
/// losses. For other data one line with shape and target. Ends with a newline.
std::string schema_text(const DataSpec& spec);

}  // namespace lanista::data
