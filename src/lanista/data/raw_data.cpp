#include "lanista/data/raw_data.h"

#include <cmath>

namespace lanista::data {
namespace {

Error broken(std::string message) { return {Code::kDataLoss, "data: " + std::move(message), ""}; }

}  // namespace

Result<void> check_numbers(const RawData& raw) {
  const DataSpec& spec = raw.spec;
  const auto width = static_cast<std::size_t>(spec.features.elements_per_sample());
  for (std::size_t i = 0; i < raw.features.size(); ++i) {
    if (std::isfinite(raw.features[i])) continue;
    return broken("feature " + std::to_string(i % width) + " of row " + std::to_string(i / width) +
                  " is not a finite number");
  }
  for (std::size_t i = 0; i < raw.labels.size(); ++i) {
    if (raw.labels[i] >= 0 && raw.labels[i] < spec.classes) continue;
    return broken("label of row " + std::to_string(i) + " is " + std::to_string(raw.labels[i]) + ", there are " +
                  std::to_string(spec.classes) + " classes");
  }
  for (std::size_t i = 0; i < raw.targets.size(); ++i) {
    if (std::isfinite(raw.targets[i])) continue;
    return broken("target of row " + std::to_string(i / static_cast<std::size_t>(spec.target_size)) +
                  " is not a finite number");
  }
  return {};
}

}  // namespace lanista::data
