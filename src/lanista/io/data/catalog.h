#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/io/data/spec.h"
#include "lanista/search/study/config.h"

namespace lanista::data {

/// A kind of source, or a built-in data set.
struct CatalogEntry {
  /// An option of the source.
  struct Option {
    std::string name, values, help;  ///< key, allowed values, and one sentence for the user
  };
  std::string notation;         ///< "csv:FILE"
  std::string help;             ///< one sentence for the user
  std::vector<Option> options;  ///< "?name=value&name=value"
  std::string licence, hash;    ///< for built-in data; else empty
  std::int64_t rows = 0;        ///< for built-in data
};

/// Every source that open() reads, built-in data first.
std::vector<CatalogEntry> catalog();
std::string catalog_text(const std::vector<CatalogEntry>& entries);     ///< entries as text for users
nlohmann::json catalog_json(const std::vector<CatalogEntry>& entries);  ///< entries as JSON

/// A source with every path in its argument and options replaced by the result of `map`. A text that is no source is
/// returned unchanged.
std::string map_paths(const std::string& source, const std::function<std::string(const std::string&)>& map);

/// The result of a check of a data set.
struct DataReport {
  DataSpec spec;                                        ///< Shape, classes, rows and so on.
  std::vector<std::array<std::int64_t, 3>> class_rows;  ///< For each class: rows of train, validation, test.
  double min = 0, max = 0;                              ///< Of raw features; for tables of encoded ones.
  double target_min = 0, target_max = 0;                ///< Of targets that are numbers.
  std::int64_t missing = 0;                             ///< Cells of a table without a value.
  std::int64_t constant_features = 0;                   ///< Features with one value in all training rows.
  std::int64_t seen_test_rows = 0;                      ///< Test rows with the features of a training row.
  std::vector<std::string> warnings;                    ///< Sentences for the user.

  std::string text() const;     ///< the report for users
  nlohmann::json json() const;  ///< the report as JSON
};

/// Opens a source and checks it. It reports rare or absent classes, constant features, test rows that are in the
/// training part, and missing cells. Errors: those of open().
Result<DataReport> check_source(const study::DataConfig& config, const std::string& folder, FileSystem& fs);

}  // namespace lanista::data
