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

/// A kind of source that can be opened, or a data set that is built in.
struct CatalogEntry {
  struct Option {
    std::string name, values, help;
  };
  std::string notation;         ///< "csv:FILE"
  std::string help;             ///< one line
  std::vector<Option> options;  ///< "?name=value&name=value"
  std::string licence, hash;    ///< of what is built in; else empty
  std::int64_t rows = 0;        ///< of what is built in
};

/// Everything `open` takes, built-in data first.
std::vector<CatalogEntry> catalog();
std::string catalog_text(const std::vector<CatalogEntry>& entries);  ///< for people
nlohmann::json catalog_json(const std::vector<CatalogEntry>& entries);

/// A source with every path that it names, in its argument and in its options, replaced by what `map` makes of it.
/// Anything that is no source stays as it is.
std::string map_paths(const std::string& source, const std::function<std::string(const std::string&)>& map);

/// What a look at a data set found.
struct DataReport {
  DataSpec spec;
  std::vector<std::array<std::int64_t, 3>> class_rows;  ///< per class: rows of train, validation, test
  double min = 0, max = 0;                              ///< of raw features (of tables: of encoded ones)
  double target_min = 0, target_max = 0;                ///< of targets that are numbers
  std::int64_t missing = 0;                             ///< cells of a table without a value
  std::int64_t constant_features = 0;                   ///< the same in all training rows
  std::int64_t seen_test_rows = 0;                      ///< rows of the test part that training has, feature by feature
  std::vector<std::string> warnings;                    ///< what a person should look at, in sentences

  std::string text() const;
  nlohmann::json json() const;
};

/// Opens a source and looks at it: what `open` makes of it, and what is odd about it (classes that are rare or absent,
/// constant features, test rows that are in the training part, missing cells). Errors: those of `open`.
Result<DataReport> check_source(const study::DataConfig& config, const std::string& folder, FileSystem& fs);

}  // namespace lanista::data
