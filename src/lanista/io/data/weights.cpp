#include "lanista/io/data/weights.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "lanista/base/edit_distance.h"

namespace lanista::data {
namespace {

constexpr std::size_t kShownNames = 20;

Error refused_weights(std::string message) {
  return {Code::kInvalidArgument, std::move(message), std::string(study::kClassWeightsKey)};
}

/// Equal sums of weights for all classes that training has.
std::vector<double> balanced_weights(const RawData& raw, std::span<const std::int64_t> train) {
  std::vector<double> counts(static_cast<std::size_t>(raw.spec.classes));
  for (const std::int64_t row : train) ++counts[static_cast<std::size_t>(raw.labels[static_cast<std::size_t>(row)])];
  const auto present = static_cast<double>(std::ranges::count_if(counts, [](double count) { return count > 0; }));
  std::vector<double> out;
  for (const double count : counts) {
    out.push_back(count > 0 ? static_cast<double>(train.size()) / (present * count) : 1.0);
  }
  return out;
}

Result<std::vector<double>> named_weights(const DataSpec& spec, const study::ClassWeights& classes) {
  std::vector<std::string> names = spec.labels;
  for (auto c = static_cast<std::int64_t>(names.size()); c < spec.classes; ++c) names.push_back(std::to_string(c));
  std::vector<double> out(names.size(), 1.0);
  for (const auto& [name, weight] : classes.of) {
    const auto at = std::ranges::find(names, name);
    if (at == names.end()) {
      std::string all;
      for (std::size_t i = 0; i < std::min(names.size(), kShownNames); ++i) all += (i > 0 ? ", " : "") + names[i];
      if (names.size() > kShownNames) all += ", … (" + std::to_string(names.size()) + ")";
      const std::string nearest = nearest_name(name, names);
      return refused_weights("'" + name + "' is no class of '" + spec.name + "'; there are " + all +
                             (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
    }
    if (!(weight >= 0 && weight <= study::kMaxClassWeight)) {
      return refused_weights("the weight of '" + name + "' is " + std::to_string(weight) + ", allowed is 0 to 1e6");
    }
    out[static_cast<std::size_t>(at - names.begin())] = weight;
  }
  return out;
}

}  // namespace

Result<std::vector<float>> row_weights(const RawData& raw, std::span<const std::int64_t> train,
                                       const study::ClassWeights& classes) {
  if (!classes && raw.weights.empty()) return std::vector<float>();
  if (classes && raw.spec.classes == 0) {
    return refused_weights("weights of classes are given, but the targets of '" + raw.spec.name +
                           "' are no classes; rows are weighted by a column (weight=COLUMN)");
  }
  if (classes && raw.spec.positions > 0) {
    return refused_weights("weights of classes are given, but a row of '" + raw.spec.name +
                           "' has a label at every position (task=next_token); they are for rows of one label");
  }
  std::vector<double> of_class;
  if (classes.balanced) {
    of_class = balanced_weights(raw, train);
  } else if (classes) {
    LANISTA_ASSIGN(of_class, named_weights(raw.spec, classes));
  }
  std::vector<double> weights(static_cast<std::size_t>(raw.rows()), 1.0);
  for (std::size_t row = 0; row < weights.size(); ++row) {
    if (!raw.weights.empty()) weights[row] = double{raw.weights[row]};
    if (!of_class.empty()) weights[row] *= of_class[static_cast<std::size_t>(raw.labels[row])];
  }
  double sum = 0;
  for (const std::int64_t row : train) sum += weights[static_cast<std::size_t>(row)];
  if (!(sum > 0)) {
    return Error{Code::kDataLoss, "all training rows of '" + raw.spec.name + "' weigh 0",
                 classes ? std::string(study::kClassWeightsKey) : std::string()};
  }
  const double mean = sum / static_cast<double>(train.size());
  std::vector<float> out;
  out.reserve(weights.size());
  for (const double weight : weights) out.push_back(static_cast<float>(weight / mean));
  return out;
}

}  // namespace lanista::data
