#include "lanista/inference/compared_predictions.h"

#include <cmath>
#include <cstddef>

namespace lanista::inference {

ComparedPredictions rows_with_targets(const data::DataSpec& data, const data::RawData& raw,
                                      std::span<const double> predictions, std::int64_t outputs) {
  const auto width = static_cast<std::size_t>(outputs);
  const auto labels = static_cast<std::size_t>(data.labels_per_sample());
  const bool classes = !raw.labels.empty();
  ComparedPredictions out;
  for (std::size_t row = 0; row * width < predictions.size(); ++row) {
    if (classes ? raw.labels[row * labels] == data::kNoLabel : std::isnan(raw.targets[row * width])) continue;
    ++out.rows;
    const auto append = [&](const auto& from, std::size_t each, auto& to) {
      const auto first = from.begin() + static_cast<std::ptrdiff_t>(row * each);
      to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(each));
    };
    append(predictions, width, out.values);
    if (classes) append(raw.labels, labels, out.labels);
    if (!classes) append(raw.targets, width, out.targets);
  }
  return out;
}

}  // namespace lanista::inference
