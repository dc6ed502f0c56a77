#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanista/io/data/spec.h"
#include "lanista/exec/program/metrics.h"
#include "lanista/exec/program/program.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/metric.h"

namespace lanista::train {

/// What a recipe says of a program beside its step: batch, how it is cut, precision.
nn::ProgramOptions program_options_of(const study::Recipe& recipe);

/// The unit of a data set's targets.
nn::TargetScaling target_scaling_of(const data::DataSpec& data);

/// The loss and metrics of a trial by their names (study/metric.h): what is asked of machines, and what their answers
/// come to.
class Evaluation {
 public:
  /// `loss` of step::losses(). `metrics` empty: accuracy for classes and labels, mae for numbers; others suit the targets
  /// (study::check_metric). `width`: numbers a prediction has. `own`: metrics of the caller. `unit`: of the targets.
  Evaluation(const std::string& loss, const std::vector<std::string>& metrics, std::int64_t width,
             std::span<const study::Metric> own = {}, nn::TargetScaling unit = {});

  const nn::Metrics& requested() const { return requested_; }
  /// Their values (of no sample: not-a-number), by name with `prefix` in front ("val_accuracy"). Where a prediction is
  /// not a number, accuracy and top<k> count its row as wrong, and all other metrics are not-a-number.
  std::map<std::string, double> values(const nn::MetricSums& sums, const std::string& prefix) const;

 private:
  using Value = std::function<double(const nn::MetricSums& sums)>;
  nn::Metrics requested_;
  std::vector<std::pair<std::string, Value>> values_;
};

}  // namespace lanista::train
