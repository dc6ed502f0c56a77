#include "lanista/io/data/raw_data.h"

#include <algorithm>
#include <cmath>

#include "lanista/io/data/columns.h"

namespace lanista::data {
namespace {

Error malformed(std::string message) { return {Code::kDataLoss, "data: " + std::move(message), ""}; }

bool keeps_missing(const DataSpec& spec) {
  if (spec.schema.is_null()) return false;
  const auto columns = parse_columns(spec.schema.at("columns"));
  return columns && std::ranges::any_of(*columns, &Column::keeps_missing);
}

}  // namespace

Result<void> check_numbers(const RawData& raw) {
  const DataSpec& spec = raw.spec;
  const bool gaps = keeps_missing(spec);
  const auto width = static_cast<std::size_t>(spec.features.elements_per_sample());
  for (std::size_t i = 0; i < raw.features.size(); ++i) {
    const float x = raw.features[i];
    const bool token = x >= 0 && x < static_cast<float>(spec.vocab) && x == std::trunc(x);
    if (spec.vocab > 0 ? token : std::isfinite(x) || (gaps && std::isnan(x))) continue;
    return malformed("feature " + std::to_string(i % width) + " of row " + std::to_string(i / width) + " is " +
                     (spec.vocab > 0
                          ? std::to_string(x) + ", no token number from 0 to " + std::to_string(spec.vocab - 1)
                          : "not a finite number"));
  }
  for (std::size_t i = 0; i < raw.labels.size(); ++i) {
    if (raw.labels[i] >= 0 && raw.labels[i] < spec.classes) continue;
    const auto row = i / static_cast<std::size_t>(spec.labels_per_sample());
    return malformed("label of row " + std::to_string(row) + " is " + std::to_string(raw.labels[i]) + ", there are " +
                     std::to_string(spec.classes) + " classes");
  }
  for (std::size_t i = 0; i < raw.targets.size(); ++i) {
    const bool label = raw.targets[i] == 0 || raw.targets[i] == 1;
    if (spec.multilabel ? label : std::isfinite(raw.targets[i])) continue;
    return malformed("target of row " + std::to_string(i / static_cast<std::size_t>(spec.target_size)) +
                     (spec.multilabel ? " is no label, 0 or 1" : " is not a finite number"));
  }
  for (std::size_t i = 0; i < raw.weights.size(); ++i) {
    if (std::isfinite(raw.weights[i]) && raw.weights[i] >= 0) continue;
    return malformed("weight of row " + std::to_string(i) + " is " + std::to_string(raw.weights[i]) +
                     ", allowed are finite numbers from 0 on");
  }
  return {};
}

}  // namespace lanista::data
