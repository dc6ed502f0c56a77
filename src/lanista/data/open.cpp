#include <algorithm>
#include <iterator>
#include <utility>

#include "lanista/data/dataset.h"
#include "lanista/data/readers.h"

namespace lanista::data {
namespace {

Result<Split> split_of(const Found& found, const std::array<double, 3>& fractions) {
  const RawData& raw = found.raw;
  const std::int64_t rows = found.columns ? static_cast<std::int64_t>(found.columns->table.rows()) : raw.rows();
  if (found.in_order) return split_blocks(rows, fractions);
  if (!found.times.empty()) return split_in_time(found.times, fractions, found.test);
  if (!found.groups.empty()) return split_groups(found.groups, raw.labels, raw.spec.classes, fractions, found.test);
  return split_rows(rows, raw.labels, raw.spec.classes, fractions, found.test);
}

/// Of one target as it has been since the first study.
nlohmann::json target_json(const Table& table, const TableRoles& roles, const DataSpec& spec) {
  nlohmann::json out{{"kind", spec.classes > 0 ? "classes" : spec.multilabel ? "multilabel" : "numbers"}};
  std::vector<std::string> names;
  for (const std::size_t column : roles.targets) names.push_back(table.header()[column]);
  if (names.size() == 1) {
    out["name"] = names.front();
  } else {
    out["names"] = names;
  }
  return out;
}

/// Turns a table into features, fitted on the training rows alone.
Result<void> encode(const Found::Columns& found, const std::vector<std::int64_t>& train, RawData& raw) {
  const auto& [table, roles] = found;
  LANISTA_ASSIGN(auto fitted, fit_columns(table, roles.features, train));
  const std::vector<Column>& columns = fitted.columns;
  std::ranges::move(fitted.remarks, std::back_inserter(raw.remarks));
  std::vector<std::size_t> indices;
  for (const RawColumn& column : roles.features) indices.push_back(column.index);
  LANISTA_ASSIGN(EncodedRows rows, encode_rows(table, indices, columns));
  DataSpec& spec = raw.spec;
  spec.normalization = normalization_of(columns);
  spec.features.dims = {static_cast<std::int64_t>(spec.normalization.mean.size())};
  if (spec.features.dims[0] == 0) return Error{Code::kDataLoss, "csv: no column holds a value", ""};
  spec.schema = {{"columns", columns_json(columns)}, {"target", target_json(table, roles, spec)}};
  if (roles.weight) spec.schema["weight"] = table.header()[*roles.weight];
  raw.features = std::move(rows.features);
  raw.missing = rows.missing;
  raw.unknown = rows.unknown;
  return check_numbers(raw);
}

}  // namespace

Result<std::pair<RawData, Split>> open_raw(const study::DataConfig& config, const std::string& folder, FileSystem& fs) {
  Request request{.source = {}, .folder = folder, .fs = &fs};
  LANISTA_ASSIGN(request.source, parse_source(config.source));
  LANISTA_ASSIGN(const Kind* kind, kind_of(request.source));
  LANISTA_ASSIGN(Found found, kind->read(request));
  const std::string path = request.path(request.source.argument);
  if (auto checked = check_numbers(found.raw); !checked) return at_file(checked.error(), path);
  // The split comes before what is fitted (means, categories), which may look at the training part alone.
  LANISTA_ASSIGN(Split split, split_of(found, config.split));
  if (found.columns) {
    if (auto encoded = encode(*found.columns, split[0], found.raw); !encoded) return at_file(encoded.error(), path);
    found.columns.reset();
  }
  found.raw.spec.source = request.source.text;
  return std::pair(std::move(found.raw), std::move(split));
}

Result<Dataset> open(const study::DataConfig& config, const std::string& folder, FileSystem& fs) {
  LANISTA_ASSIGN(auto raw, open_raw(config, folder, fs));
  return Dataset::make(std::move(raw.first), std::move(raw.second), config.normalize, config.targets,
                       config.class_weights);
}

}  // namespace lanista::data
