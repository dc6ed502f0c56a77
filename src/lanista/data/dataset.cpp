#include "lanista/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "lanista/base/rng.h"
#include "lanista/data/split.h"

namespace lanista::data {
namespace {

Error broken(std::string message) { return {Code::kDataLoss, "data: " + std::move(message), ""}; }

std::span<const std::byte> bytes_of(const auto& values) { return std::as_bytes(std::span(values)); }

/// Whether the numbers are what the specification says.
Result<void> check_numbers(const DataSpec& spec, std::int64_t width, const std::vector<float>& features,
                           const std::vector<std::int32_t>& labels, const std::vector<float>& targets) {
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (std::isfinite(features[i])) continue;
    const auto w = static_cast<std::size_t>(width);
    return broken("feature " + std::to_string(i % w) + " of row " + std::to_string(i / w) + " is not a finite number");
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= 0 && labels[i] < spec.classes) continue;
    return broken("label of row " + std::to_string(i) + " is " + std::to_string(labels[i]) + ", there are " +
                  std::to_string(spec.classes) + " classes");
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (std::isfinite(targets[i])) continue;
    return broken("target of row " + std::to_string(i / static_cast<std::size_t>(spec.target_size)) +
                  " is not a finite number");
  }
  return {};
}

/// Mean and deviation of all features of some rows, in one fixed order of summation.
std::pair<double, double> fit(const std::vector<float>& features, std::size_t width,
                              const std::vector<std::int64_t>& rows) {
  const auto sum = [&](auto&& term) {
    double total = 0;
    for (const std::int64_t row : rows) {
      const float* first = features.data() + static_cast<std::size_t>(row) * width;
      for (std::size_t f = 0; f < width; ++f) total += term(static_cast<double>(first[f]));
    }
    return total / (static_cast<double>(rows.size()) * static_cast<double>(width));
  };
  const double mean = sum([](double x) { return x; });
  const double variance = sum([mean](double x) { return (x - mean) * (x - mean); });
  return {mean, variance > 0 ? std::sqrt(variance) : 1.0};
}

Digest hash_all(const DataSpec& spec, const std::vector<float>& features, const std::vector<std::int32_t>& labels,
                const std::vector<float>& targets, const std::array<std::vector<std::int64_t>, 3>& rows) {
  Hasher hasher;
  hasher.text("lanista data 1").number(spec.rows).number(spec.classes).number(spec.target_size);
  for (const std::int64_t d : spec.features.dims) hasher.number(d);
  hasher.digest(hash_bytes(bytes_of(features))).digest(hash_bytes(bytes_of(labels)));
  hasher.digest(hash_bytes(bytes_of(targets)));
  for (const auto& part : rows) hasher.digest(hash_bytes(bytes_of(part)));
  hasher.real(spec.mean).real(spec.scale);
  hasher.digest(hash_bytes(bytes_of(spec.feature_mean))).digest(hash_bytes(bytes_of(spec.feature_scale)));
  return hasher.finish();
}

}  // namespace

Result<Dataset> Dataset::make(DataSpec spec, std::vector<float> features, std::vector<std::int32_t> labels,
                              std::vector<float> targets, const study::DataConfig& config) {
  const std::int64_t width = spec.features.elements_per_sample();
  LANISTA_CHECK(width > 0 && !spec.features.has_batch(), "the features of a data set must have a shape without batch");
  LANISTA_CHECK(features.size() % static_cast<std::size_t>(width) == 0, "features are not whole rows");
  const std::size_t rows = features.size() / static_cast<std::size_t>(width);
  LANISTA_CHECK(labels.size() == (spec.classes > 0 ? rows : 0), "there must be one label a row, and classes for it");
  LANISTA_CHECK(targets.size() == (spec.classes > 0 ? 0 : rows * static_cast<std::size_t>(spec.target_size)),
                "there must be target_size targets a row");
  LANISTA_CHECK(spec.feature_mean.size() == spec.feature_scale.size() &&
                    (spec.feature_mean.empty() || spec.feature_mean.size() == static_cast<std::size_t>(width)),
                "there must be one mean and one scale a feature");
  if (config.normalize != "auto" && config.normalize != "none") {
    return Error{Code::kInvalidArgument, "normalize is \"" + config.normalize + "\", allowed are auto and none", ""};
  }
  LANISTA_TRY(check_numbers(spec, width, features, labels, targets));

  Dataset out;
  spec.rows = static_cast<std::int64_t>(rows);
  LANISTA_ASSIGN(out.rows_, split_rows(spec.rows, labels, spec.classes, config.split));
  for (std::size_t p = 0; p < 3; ++p) spec.split_rows[p] = static_cast<std::int64_t>(out.rows_[p].size());
  const auto w = static_cast<std::size_t>(width);
  if (config.normalize == "auto") {
    if (spec.feature_mean.empty()) std::tie(spec.mean, spec.scale) = fit(features, w, out.rows_[0]);
  } else {
    spec.feature_mean.clear();
    spec.feature_scale.clear();
  }
  spec.hash = hash_all(spec, features, labels, targets, out.rows_);
  if (config.normalize == "auto") {
    for (std::size_t i = 0; i < features.size(); ++i) {
      const double mean = spec.feature_mean.empty() ? spec.mean : spec.feature_mean[i % w];
      const double scale = spec.feature_scale.empty() ? spec.scale : spec.feature_scale[i % w];
      features[i] = static_cast<float>((static_cast<double>(features[i]) - mean) / scale);
    }
  }
  out.spec_ = std::move(spec);
  out.features_ = std::move(features);
  out.labels_ = std::move(labels);
  out.targets_ = std::move(targets);
  return out;
}

namespace {

template <class T>
void gather(const std::vector<T>& from, std::size_t width, std::span<const std::int64_t> rows, std::span<T> out) {
  LANISTA_CHECK(out.size() == rows.size() * width, "the span to gather into has the wrong size");
  auto* to = out.data();
  for (const std::int64_t row : rows) {
    const std::size_t first = static_cast<std::size_t>(row) * width;
    LANISTA_CHECK(row >= 0 && first + width <= from.size(), "row " + std::to_string(row) + " does not exist");
    to = std::copy_n(from.data() + first, width, to);
  }
}

}  // namespace

void Dataset::gather_features(std::span<const std::int64_t> rows, std::span<float> out) const {
  gather(features_, static_cast<std::size_t>(spec_.features.elements_per_sample()), rows, out);
}

void Dataset::gather_labels(std::span<const std::int64_t> rows, std::span<std::int32_t> out) const {
  gather(labels_, 1, rows, out);
}

void Dataset::gather_targets(std::span<const std::int64_t> rows, std::span<float> out) const {
  gather(targets_, static_cast<std::size_t>(spec_.target_size), rows, out);
}

nlohmann::json spec_json(const DataSpec& spec) {
  nlohmann::json out = {{"name", spec.name},
                        {"source", spec.source},
                        {"licence", spec.licence},
                        {"rows", spec.rows},
                        {"features", spec.features.dims},
                        {"classes", spec.classes},
                        {"labels", spec.labels},
                        {"target_size", spec.target_size},
                        {"split_rows", spec.split_rows},
                        {"hash", spec.hash.hex()},
                        {"mean", spec.mean},
                        {"scale", spec.scale}};
  if (!spec.feature_mean.empty()) {
    out["feature_mean"] = spec.feature_mean;
    out["feature_scale"] = spec.feature_scale;
  }
  if (!spec.schema.is_null()) out["schema"] = spec.schema;
  return out;
}

std::vector<std::int64_t> epoch_order(const std::vector<std::int64_t>& rows, std::uint64_t data_seed,
                                      std::int64_t epoch) {
  Rng rng = Rng(data_seed).split("epoch").split(static_cast<std::uint64_t>(epoch));
  std::vector<std::int64_t> order;
  order.reserve(rows.size());
  for (const std::uint32_t i : rng.permutation(static_cast<std::uint32_t>(rows.size()))) order.push_back(rows[i]);
  return order;
}

}  // namespace lanista::data
