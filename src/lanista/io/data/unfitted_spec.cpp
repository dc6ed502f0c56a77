#include "lanista/io/data/unfitted_spec.h"

#include "lanista/base/check.h"
#include "lanista/io/data/columns.h"
#include "lanista/io/data/post_process.h"

namespace lanista::data {

DataSpec spec_without_fitted_stats(const DataSpec& spec) {
  DataSpec out = spec;
  out.folds.clear();
  out.normalization = {};
  if (out.schema.is_null()) return out;
  auto columns = parse_columns(out.schema.at("columns"));
  LANISTA_CHECK(columns.ok(), "a specification holds a sound schema");
  for (Column& column : *columns) {
    column.unseen.clear();
    column.keeps_missing = true;
  }
  out.schema["columns"] = columns_json(*columns);
  return out;
}

std::vector<std::size_t> unseen_features(const DataSpec& spec) {
  if (spec.schema.is_null()) return {};
  auto unseen = unseen_features_of_schema(spec.schema);
  LANISTA_CHECK(unseen.ok(), "a specification holds a sound schema");
  return *std::move(unseen);
}

}  // namespace lanista::data
