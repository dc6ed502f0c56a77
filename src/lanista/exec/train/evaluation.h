#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanista/exec/program/metrics.h"
#include "lanista/exec/program/program.h"
#include "lanista/io/data/spec.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/metric.h"

namespace lanista::train {

/// Returns the program options that a recipe sets: largest batch, shards, accumulate and precision; the rest are
/// defaults.
program::ProgramOptions program_options_of(const study::Recipe& recipe);

/// Returns mean and scale of a data set's targets; empty if they are not normalised.
program::TargetScaling target_scaling_of(const data::DataSpec& data);

/// The loss and metrics of a trial by name (search/study/metric.h): what a program must measure, and the values that
/// follow.
class Evaluation {
 public:
  /// `loss` is a name in autodiff::losses(). `metrics` must suit the targets (study::check_metric); empty means
  /// accuracy for classes and labels, mae for numbers. An unknown loss or metric throws. `width` is the number of
  /// classes, labels or numbers of an answer. `own` are metrics of the caller, `unit` is the scaling of the targets.
  Evaluation(const std::string& loss, const std::vector<std::string>& metrics, std::int64_t width,
             std::span<const study::Metric> own = {}, program::TargetScaling unit = {});

  /// The sums that a program must measure. Valid as long as this object.
  const program::Metrics& requested() const { return requested_; }
  /// Returns the loss and the metrics by name, with `prefix` in front ("val_accuracy"). Without samples they are NaN.
  ///
  /// If a prediction is NaN, accuracy, top<k> and exact_match count its row as wrong (accuracy of labels: that label).
  /// Other metrics are then NaN.
  std::map<std::string, double> values(const program::MetricSums& sums, const std::string& prefix) const;

 private:
  using Value = std::function<double(const program::MetricSums& sums)>;
  program::Metrics requested_;
  std::vector<std::pair<std::string, Value>> values_;
};

}  // namespace lanista::train
