#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/autodiff/loss.h"

namespace lanista::study {

/// Predictions and targets of the rows of a part, in the order of the data.
struct Scored {
  std::int64_t width = 0;                     ///< Numbers in a prediction: classes, labels or outputs.
  std::span<const double> scores;             ///< [n, width]: logits, or numbers in the unit of the targets.
  std::span<const std::int32_t> labels = {};  ///< [n]: classes; else empty.
  std::span<const float> targets = {};        ///< [n, width]: numbers, or labels as 0 and 1; else empty.
};

/// The kind of target that a metric must suit.
struct Targets {
  /// Targets with this number of classes; 0: numbers.
  Targets(std::int64_t of_classes)  // NOLINT(google-explicit-constructor): a number of classes is enough
      : kind(of_classes > 0 ? step::TargetKind::kClasses : step::TargetKind::kNumbers), classes(of_classes) {}
  /// Targets with several labels a row.
  static Targets multilabel() {
    Targets out(0);
    out.kind = step::TargetKind::kMultilabel;
    return out;
  }

  step::TargetKind kind;
  std::int64_t classes;  ///< number of classes; 0: numbers or labels
};

/// The targets that a metric is defined for.
enum class MetricTargets { kClasses, kTwoClasses, kNumbers, kLabels };

/// A metric with its properties. exec/train/evaluation.cpp computes the metrics of the table.
struct Metric {
  std::string name;  ///< "f1_macro"; "top<k>" and "quantile<q>" stand for one metric for each number.
  MetricTargets targets = MetricTargets::kClasses;  ///< Targets that it is defined for.
  bool maximize = false;                            ///< Larger is better.
  std::string help = {};                            ///< Definition in one sentence.
  std::int64_t usual = 0;                           ///< Default number of "top<k>" and "quantile<q>".
  /// Metrics of the caller only: computes the value. It may be called by several threads and gets no NaN.
  std::function<double(const Scored& scored)> compute = {};
  /// Metrics of classes only: definition for several labels a row. Empty: not defined for them.
  std::string label_metric = {};
  std::optional<double> bound = {};  ///< best possible value, which rounding cannot exceed; nullopt: none is declared
};

/// The table of metrics. "loss" is not in it: it is always measured.
const std::vector<Metric>& metrics();

/// A metric with its number: "top3" is "top<k>" with the number 3.
struct NamedMetric {
  Metric metric;
  std::int64_t number = 0;
};
/// Returns the metric with this name. `own` are metrics of the caller, which have priority. nullopt: there is none.
std::optional<NamedMetric> find_metric(std::string_view name, std::span<const Metric> own = {});

/// Checks that a metric suits the targets. "loss" is not accepted, because it is always measured. Errors:
/// kInvalidArgument with the metric and the allowed ones.
Result<void> check_metric(std::string_view name, const Targets& targets, std::span<const Metric> own = {});

/// Returns the metrics that are measured if none are named: accuracy for classes and labels, mae for numbers.
std::vector<std::string> default_metrics(const Targets& targets);

/// Returns the names in the table that suit the targets, in its order. A metric with a number has its default number.
std::vector<std::string> applicable_metrics(const Targets& targets);

/// Returns "accuracy, exact_match, top<k>, …" for the help text.
std::string metric_list();

/// Returns the metric with the validation value `measured`: "f1_macro" for "val_f1_macro". Empty: `measured` is no such
/// value.
std::string_view validation_metric(std::string_view measured);

/// Returns true if larger is better for a value such as "val_f1_macro", "train_loss" or "params". nullopt: the name is
/// unknown.
std::optional<bool> more_is_better(std::string_view measured);

/// Returns the best possible value of `measured`: 1 for "val_accuracy". nullopt: the name is unknown, or none is
/// declared.
std::optional<double> best_possible(std::string_view measured);

}  // namespace lanista::study
