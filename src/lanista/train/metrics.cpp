#include "lanista/train/metrics.h"

#include <cmath>

#include "lanista/study/metric.h"

namespace lanista::train {
namespace {

// Does the label's logit rank among the k largest? Ties count against the label's later rivals, as a stable sort would.
bool within_top(std::span<const double> row, std::int64_t label, std::int64_t k) {
  const double own = row[static_cast<std::size_t>(label)];
  std::int64_t better = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (std::isnan(row[i])) return false;
    if (row[i] > own || (row[i] == own && static_cast<std::int64_t>(i) < label)) ++better;
  }
  return better < k;
}

}  // namespace

MetricSums::MetricSums(std::vector<std::string> names, std::int64_t width)
    : names_(std::move(names)), sums_(names_.size(), 0.0), width_(width) {
  for (const auto& name : names_) top_.push_back(study::metric_rank(name).value_or(0));
}

void MetricSums::add_classes(std::span<const double> logits, std::span<const std::int32_t> labels,
                             std::span<const double> losses) {
  const auto width = static_cast<std::size_t>(width_);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    loss_sum_ += losses[i];
    const auto row = logits.subspan(i * width, width);
    for (std::size_t m = 0; m < names_.size(); ++m) sums_[m] += within_top(row, labels[i], top_[m]) ? 1.0 : 0.0;
  }
  samples_ += static_cast<std::int64_t>(labels.size());
}

void MetricSums::add_numbers(std::span<const double> predictions, std::span<const float> targets,
                             std::span<const double> losses) {
  const auto width = static_cast<std::size_t>(width_);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    loss_sum_ += losses[i];
    double absolute = 0;
    for (std::size_t j = i * width; j < (i + 1) * width; ++j) {
      absolute += std::fabs(predictions[j] - static_cast<double>(targets[j]));
    }
    for (double& sum : sums_) sum += absolute / static_cast<double>(width_);
  }
  samples_ += static_cast<std::int64_t>(losses.size());
}

std::map<std::string, double> MetricSums::means(const std::string& prefix) const {
  const double count = static_cast<double>(samples_);
  std::map<std::string, double> out{{prefix + "loss", loss_sum_ / count}};
  for (std::size_t m = 0; m < names_.size(); ++m) out[prefix + names_[m]] = sums_[m] / count;
  return out;
}

}  // namespace lanista::train
