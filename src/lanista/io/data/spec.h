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

namespace lanista::data {

struct SampleStream;

/// The most tokens of a vocabulary. Their numbers are exact as floats.
inline constexpr std::int64_t kMaxVocab = std::int64_t{1} << 20;

/// The description of a data set, without its numbers.
struct DataSpec {
  std::string name;                 ///< "digits"
  std::string source;               ///< As in the study file.
  std::string licence;              ///< "CC BY 4.0", or empty.
  graph::Shape features;            ///< Shape of one sample without the batch: [64] or [1, 8, 8].
  std::int64_t vocab = 0;           ///< Features are token numbers below this; 0: real numbers.
  std::int64_t classes = 0;         ///< Number of classes; 0: targets are numbers.
  std::int64_t positions = 0;       ///< For classes: tokens of a sample with a label each; 0: one label for a sample.
  std::int64_t target_size = 1;     ///< Numbers of a sample's target if `classes` is 0.
  bool multilabel = false;          ///< Those numbers are 0 or 1: whether a sample has a label.
  std::vector<std::string> labels;  ///< Class names, may be empty.
  std::int64_t rows = 0;            ///< All rows.
  std::array<std::int64_t, 3> split_rows{};  ///< Rows of train, validation, test.
  Digest hash;                               ///< Of all numbers and the split; part of the study's identity.
  Normalization normalization;               ///< Of the features, fitted on the training part.
  /// For targets that are numbers: training uses (target - mean) / scale, one entry for each, fitted on the training
  /// part. None: training uses targets unchanged, as in old builds.
  std::optional<Normalization> target_normalization;
  nlohmann::json schema;  ///< For tables: how raw rows become features ("columns", "target"); otherwise null.
  std::shared_ptr<const SampleStream> stream;  ///< Source of features that are not in memory; null: all are in memory.
  /// With data.folds: the specification of every training, in the order of folds. They differ in what is fitted on
  /// rows: split_rows, hash, normalisations, and the same in the schema, with categories that no training row has. This
  /// specification is the first, except for its hash.
  std::vector<DataSpec> folds;

  /// What a model predicts.
  study::Targets targets() const { return multilabel ? study::Targets::multilabel() : study::Targets(classes); }
  /// Numbers that a model returns for a sample.
  std::int64_t outputs() const { return labels_per_sample() * width(); }
  /// Labels of a sample, where targets are classes.
  std::int64_t labels_per_sample() const { return positions > 0 ? positions : 1; }
  /// Numbers of one prediction: the classes of one label, or all targets of a sample.
  std::int64_t width() const { return classes > 0 ? classes : target_size; }
  /// Shape of a model's output for a sample: [width], or [positions, width].
  graph::Shape prediction() const { return {positions > 0 ? std::vector{positions, width()} : std::vector{width()}}; }
};

/// The specification of the data of the training of `fold`; `spec` itself without one. Errors: kDataLoss (no such
/// fold).
Result<DataSpec> training_spec(const DataSpec& spec, const std::optional<std::int64_t>& fold);

/// The specification as JSON for the log and the model package.
nlohmann::json spec_json(const DataSpec& spec);

/// Reads what spec_json() wrote. Errors: kDataLoss with the entry.
Result<DataSpec> parse_spec(const nlohmann::json& json);

/// The columns to predict, in order; empty where the source names none.
std::vector<std::string> target_names(const DataSpec& spec);

/// The numbers in place of missing ones of a raw sample, one for each feature. Empty without such a rule: all but
/// tables.
std::vector<double> missing_numbers(const DataSpec& spec);

/// Names of a table's features, in order: "area", for each category "quarter=north", for a date "built.year" and so on.
/// Empty for anything but a table.
std::vector<std::string> feature_names(const DataSpec& spec);

/// Ranges of features that are one categorical column of a table, [first, count], in order; empty for anything but a
/// table.
std::vector<std::pair<std::int64_t, std::int64_t>> category_features(const DataSpec& spec);

/// A number with six significant digits, for users.
std::string short_number(double value);

/// A description for users. For a table one line for each column (name, kind, range or categories, missing and
/// different values) and one for the target. For other data one line with shape and target. Ends with a newline.
std::string schema_text(const DataSpec& spec);

}  // namespace lanista::data
