#include "lanista/inference/prediction_columns.h"

#include <algorithm>
#include <cmath>

namespace lanista::inference {
namespace {

std::vector<double> softmax(std::span<const double> logits) {
  std::vector<double> out(logits.begin(), logits.end());
  const double largest = *std::max_element(out.begin(), out.end());
  double sum = 0;
  for (double& x : out) sum += x = std::exp(x - largest);
  for (double& x : out) x /= sum;
  return out;
}

double sigmoid(double logit) {
  const double rest = std::exp(-std::fabs(logit));
  return (logit < 0 ? rest : 1) / (1 + rest);
}

std::string column_name(const data::DataSpec& data, std::size_t k) {
  if (data.classes > 0) return "p_" + class_name(data, k);
  const std::vector<std::string> names = data::target_names(data);
  const std::string name = k < names.size() ? names[k] : std::to_string(k);
  if (data.multilabel) return "p_" + name;
  if (names.size() > 1) return "prediction_" + name;
  return "prediction" + (k == 0 ? "" : "_" + name);
}

}  // namespace

std::string class_name(const data::DataSpec& data, std::size_t index) {
  return index < data.labels.size() ? data.labels[index] : std::to_string(index);
}

std::vector<std::string> prediction_columns(const data::DataSpec& data) {
  std::vector<std::string> out;
  for (std::size_t k = 0; k < static_cast<std::size_t>(data.width()); ++k) out.push_back(column_name(data, k));
  return out;
}

std::vector<double> prediction_values(const data::DataSpec& data, std::span<const double> outputs) {
  if (data.classes > 0) return softmax(outputs);
  std::vector<double> out(outputs.begin(), outputs.end());
  if (data.multilabel) std::ranges::transform(out, out.begin(), sigmoid);
  for (std::size_t k = 0; k < data.target_origin.size(); ++k) out[k] += data.target_origin[k];
  return out;
}

}  // namespace lanista::inference
