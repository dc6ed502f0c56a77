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

/// Most tokens of a vocabulary: their numbers stay exact as floats.
inline constexpr std::int64_t kMaxVocab = std::int64_t{1} << 20;

/// What a data set is, apart from its numbers.
struct DataSpec {
  std::string name;                 ///< "digits"
  std::string source;               ///< as in the study file
  std::string licence;              ///< "CC BY 4.0", or empty
  graph::Shape features;            ///< of one sample, no batch: [64] or [1, 8, 8]
  std::int64_t vocab = 0;           ///< features are token numbers below this; 0: they are real numbers
  std::int64_t classes = 0;         ///< 0: targets are numbers
  std::int64_t positions = 0;       ///< of classes: a sample has a label behind each of so many tokens; 0: it has one
  std::int64_t target_size = 1;     ///< numbers per sample when classes == 0
  bool multilabel = false;          ///< those are zeros and ones: whether a sample has each of so many labels
  std::vector<std::string> labels;  ///< class names, may be empty
  std::int64_t rows = 0;
  std::array<std::int64_t, 3> split_rows{};  ///< train, validation, test
  Digest hash;                               ///< of all numbers and the split; part of the study's identity
  Normalization normalization;               ///< of the features, fitted on the training part
  /// Of targets that are numbers: training sees (target - mean) / scale, one entry each, fitted on the training part.
  /// None: it sees targets as they are, as all builds did before there was this.
  std::optional<Normalization> target_normalization;
  nlohmann::json schema;  ///< how raw rows become features ("columns", "target"), for tables; null otherwise
  std::shared_ptr<const SampleStream> stream;  ///< where features come from that do not lie in memory; null: they do
  /// With data.folds: of every training, in the order of its fold; they differ in what is found of the rows (split_rows,
  /// hash, normalisations, in the schema the same and categories that no training row has). `this` is the first but for
  /// its hash.
  std::vector<DataSpec> folds;

  /// What is to be predicted.
  study::Targets targets() const { return multilabel ? study::Targets::multilabel() : study::Targets(classes); }
  /// Numbers that a model gives for a sample.
  std::int64_t outputs() const { return labels_per_sample() * width(); }
  /// Where targets are classes: labels that a sample has.
  std::int64_t labels_per_sample() const { return positions > 0 ? positions : 1; }
  /// Numbers that are one answer: the classes that a label is one of, or all targets of a sample.
  std::int64_t width() const { return classes > 0 ? classes : target_size; }
  /// What a model gives for a sample: [width], or [positions, width].
  graph::Shape prediction() const {
    return {positions > 0 ? std::vector{positions, width()} : std::vector{width()}};
  }
};

/// Of the data that a training of `fold` sees; `spec` itself without one. Errors: kDataLoss (there is no such fold).
Result<DataSpec> training_spec(const DataSpec& spec, const std::optional<std::int64_t>& fold);

/// The specification as the log and the model package hold it.
nlohmann::json spec_json(const DataSpec& spec);

/// The inverse of spec_json. Errors: kDataLoss naming the entry.
Result<DataSpec> parse_spec(const nlohmann::json& json);

/// The columns to predict, in their order; empty where the source names none.
std::vector<std::string> target_names(const DataSpec& spec);

/// What a missing number of a raw sample becomes, one a feature; empty where there is no rule for it: all but tables.
std::vector<double> missing_numbers(const DataSpec& spec);

/// Names of a table's features, in order: "area", of a category "quarter=north" each, of a date "built.year" and so on.
/// Empty for all but tables.
std::vector<std::string> feature_names(const DataSpec& spec);

/// The features that are a category of a table, [first, count], in order; empty for all but tables.
std::vector<std::pair<std::int64_t, std::int64_t>> category_features(const DataSpec& spec);

/// Six digits that count, for people.
std::string short_number(double value);

/// For people: one line a column of a table (name, kind, range or categories, missing and different values) and one for
/// the target; for other data one line with shape and target. Ends with a newline.
std::string schema_text(const DataSpec& spec);

}  // namespace lanista::data
