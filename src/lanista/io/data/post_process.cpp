#include "lanista/io/data/post_process.h"

#include <algorithm>
#include <cmath>

#include "lanista/base/check.h"
#include "lanista/io/data/columns.h"
#include "lanista/io/data/constant_columns.h"
#include "lanista/search/study/rules.h"

namespace lanista::data {
namespace {

/// Mean and scale of numbers that may be NaN, as table.cpp computes them of cells.
std::pair<double, double> mean_and_scale(const std::vector<float>& features, std::size_t width, std::size_t feature,
                                         const std::vector<std::int64_t>& train, double origin, std::int64_t rules) {
  double mean = 0, variance = 0, present = 0, least = 0, most = 0;
  const auto each = [&](auto&& f) {
    for (const std::int64_t row : train) {
      const double value = features[static_cast<std::size_t>(row) * width + feature];
      if (!std::isnan(value)) f(value);
    }
  };
  each([&](double value) {
    least = present > 0 ? std::min(least, value) : value;
    most = present > 0 ? std::max(most, value) : value;
    mean += value;
    ++present;
  });
  if (present > 0) mean /= present;
  each([&](double value) { variance += (value - mean) * (value - mean); });
  if (present > 0) variance /= present;
  double scale = variance > 0 ? std::sqrt(variance) : 1;
  if (rules > study::kFirstRules) settle_constant(least, most, origin, mean, scale);
  return {mean, scale};
}

bool has_nonzero(const std::vector<float>& features, std::size_t width, std::size_t feature,
                 const std::vector<std::int64_t>& train) {
  return std::ranges::any_of(
      train, [&](std::int64_t row) { return features[static_cast<std::size_t>(row) * width + feature] != 0; });
}

std::vector<Column> parse_valid_columns(const nlohmann::json& schema) {
  auto columns = parse_columns(schema.at("columns"));
  LANISTA_CHECK(columns.ok(), "a specification holds a sound schema");
  return *std::move(columns);
}

}  // namespace

void PostProcess::apply(std::span<float> rows, std::int64_t width) const {
  const auto w = static_cast<std::size_t>(width), entries = normalization.mean.size();
  LANISTA_CHECK(w > 0 && rows.size() % w == 0 && entries > 0 && w % entries == 0,
                "the entries of a normalisation must divide the features");
  const std::size_t run = w / entries;
  const double* const mean = normalization.mean.data();
  const double* const scale = normalization.scale.data();
  for (float* row = rows.data(); row != rows.data() + rows.size(); row += w) {
    if (!missing.empty()) {
      for (std::size_t f = 0; f < w; ++f) row[f] = std::isnan(row[f]) ? missing[f] : row[f];
    }
    for (const std::size_t f : unseen) row[f] = 0;
    if (run == 1) {
      for (std::size_t f = 0; f < w; ++f)
        row[f] = static_cast<float>((static_cast<double>(row[f]) - mean[f]) / scale[f]);
      continue;
    }
    for (std::size_t e = 0; e < entries; ++e) {
      const double m = mean[e], s = scale[e];
      float* const part = row + e * run;
      for (std::size_t f = 0; f < run; ++f) part[f] = static_cast<float>((static_cast<double>(part[f]) - m) / s);
    }
  }
}

PostProcess fit_table(RawData& raw, const std::vector<std::int64_t>& train) {
  const std::vector<Column> columns = parse_valid_columns(raw.spec.schema);
  const auto width = static_cast<std::size_t>(raw.spec.features.elements_per_sample());
  PostProcess out{.normalization = {.mean = {}, .scale = {}}, .missing = {}, .unseen = {}};
  std::size_t feature = 0;
  for (const Column& column : columns) {
    const bool category = column.kind == ColumnKind::kCategory;
    for (const std::size_t end = feature + static_cast<std::size_t>(column.width()); feature < end; ++feature) {
      const double origin = raw.spec.origin.empty() ? 0 : raw.spec.origin.at(feature);
      const auto [mean, scale] =
          category ? std::pair(0.0, 1.0) : mean_and_scale(raw.features, width, feature, train, origin, raw.spec.rules);
      out.normalization.mean.push_back(mean + origin);
      out.normalization.scale.push_back(scale);
      // As a model package computes it from the mean in the unit of the source.
      out.missing.push_back(static_cast<float>(mean + origin - origin));
      if (category && !has_nonzero(raw.features, width, feature, train)) out.unseen.push_back(feature);
    }
  }
  if (std::ranges::none_of(raw.features, [](float x) { return std::isnan(x); })) out.missing.clear();
  raw.spec.schema = with_fitted_stats(raw.spec.schema, out.normalization, out.unseen);
  raw.spec.normalization = out.normalization;
  return out;
}

nlohmann::json with_fitted_stats(const nlohmann::json& schema, const Normalization& normalization,
                                 const std::vector<std::size_t>& unseen) {
  std::vector<Column> columns = parse_valid_columns(schema);
  std::size_t feature = 0;
  const auto take = [&](NumberStats& stats) {
    stats.mean = normalization.mean.at(feature);
    stats.scale = normalization.scale.at(feature++);
  };
  for (Column& column : columns) {
    column.unseen.clear();
    if (column.kind == ColumnKind::kNumber) take(column.stats);
    for (const std::string& category : column.categories) {
      if (std::ranges::binary_search(unseen, feature++)) column.unseen.push_back(category);
    }
    for (NumberStats& part : column.parts) take(part);
  }
  nlohmann::json out = schema;
  out["columns"] = columns_json(columns);
  return out;
}

Result<std::vector<std::size_t>> unseen_features_of_schema(const nlohmann::json& schema) {
  LANISTA_ASSIGN(const auto columns, parse_columns(schema.at("columns")));
  std::vector<std::size_t> out;
  std::size_t feature = 0;
  for (const Column& column : columns) {
    for (std::size_t i = 0; i < column.categories.size(); ++i) {
      if (std::ranges::binary_search(column.unseen, column.categories[i])) out.push_back(feature + i);
    }
    feature += static_cast<std::size_t>(column.width());
  }
  return out;
}

}  // namespace lanista::data
