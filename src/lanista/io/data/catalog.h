#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/io/data/reading_decision.h"
#include "lanista/io/data/spec.h"
#include "lanista/search/study/config.h"

namespace lanista::data {

/// A kind of source that a user may write in data.source, or one built-in data set.
struct CatalogEntry {
  /// An option that may follow the source after '?'.
  struct Option {
    std::string name, values, help;  ///< key, allowed values, and one sentence for the user
  };
  std::string notation;         ///< how a user writes the source: "csv:FILE"
  std::string help;             ///< one sentence for the user
  std::vector<Option> options;  ///< its options; a user writes "?name=value&name=value"
  /// of built-in data: licence, and DataSpec::hash with the default data settings in hexadecimal; else empty
  std::string licence, hash;
  std::int64_t rows = 0;  ///< number of rows of built-in data; else 0
};

/// Every source that open() reads, built-in data first.
std::vector<CatalogEntry> catalog();
std::string catalog_text(const std::vector<CatalogEntry>& entries);  ///< the entries as lines of text for users
/// The entries as a JSON list of objects with "notation", "help" and "options" (a list of objects with "name",
/// "values", "help"). Built-in data also have "rows", "licence" and "hash".
nlohmann::json catalog_json(const std::vector<CatalogEntry>& entries);

/// The text of a source in which each path of its argument and options is replaced by the result of `map` for it, with
/// codes for characters that would end it (escaped()). `map` gets paths as they are written. A text that is no valid
/// source is returned unchanged.
std::string map_paths(const std::string& source, const std::function<std::string(const std::string&)>& map);

/// The findings of a check of a data set, and its description.
struct DataReport {
  DataSpec spec;  ///< The description of the data set, as of open() without folds.
  /// For each class or label: the numbers of rows in train, validation and test part; with a label at every position,
  /// the numbers of labels. Empty for targets that are numbers.
  std::vector<std::array<std::int64_t, 3>> class_rows;
  double min = 0, max = 0;                 ///< Range of all features before normalisation; of a table after encoding.
  double target_min = 0, target_max = 0;   ///< Range of targets that are numbers or labels, as read; 0 for classes.
  std::int64_t missing = 0;                ///< Number of cells in feature columns of a table without a value.
  std::int64_t constant_features = 0;      ///< Number of features with one value in all training rows.
  std::int64_t seen_test_rows = 0;         ///< Number of test rows that equal a training row in all features.
  std::vector<std::string> warnings;       ///< Texts for the user, one line each.
  std::vector<ReadingDecision> decisions;  ///< How ambiguous input is read.

  std::string text() const;  ///< the report as lines for users, which end with newlines
  /// The report as one JSON object: "data" (spec_json()) and the other fields by name; "target_min" and "target_max"
  /// only without classes. "decisions" has an entry for each topic.
  nlohmann::json json() const;
};

/// Opens `config.source` and checks it, relative paths below `folder`. It warns of rare or absent classes, constant
/// features, test rows that equal a training row, and missing cells. Warnings are no errors. Errors: those of open()
/// (kNotFound, kInvalidArgument, kDataLoss, kResourceExhausted, kUnimplemented).
Result<DataReport> check_source(const study::DataConfig& config, const std::string& folder, FileSystem& fs);

}  // namespace lanista::data
