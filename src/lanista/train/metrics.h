#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace lanista::train {

/// Sums metrics (names as in study/metric.h) and the loss over the samples of a part, batch by batch, in double and in
/// sample order.
class MetricSums {
 public:
  MetricSums(std::vector<std::string> names, std::int64_t width);

  /// Predictions of classes: logits [n, width], labels [n], per-sample losses [n]. A row with a NaN counts as wrong.
  void add_classes(std::span<const double> logits, std::span<const std::int32_t> labels,
                   std::span<const double> losses);
  /// Predictions of numbers: [n, width] each, per-sample losses [n].
  void add_numbers(std::span<const double> predictions, std::span<const float> targets, std::span<const double> losses);

  /// Means, by name with `prefix` in front ("val_accuracy").
  std::map<std::string, double> means(const std::string& prefix) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::int64_t> top_;  // k of each name; 0: mae
  std::vector<double> sums_;
  std::int64_t width_;
  double loss_sum_ = 0;
  std::int64_t samples_ = 0;
};

}  // namespace lanista::train
