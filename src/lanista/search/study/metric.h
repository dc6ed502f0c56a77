#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/autodiff/loss.h"

namespace lanista::study {

/// Predictions and targets of n rows of a part, in the order of the data. The arrays are row-major and belong to the
/// caller.
struct Scored {
  std::int64_t width = 0;                     ///< Numbers in a prediction: classes, labels or outputs.
  std::span<const double> scores;             ///< Logits, or numbers in the unit of the targets: [n, width].
  std::span<const std::int32_t> labels = {};  ///< Class index of each row: [n]. Empty without classes.
  std::span<const double> targets = {};       ///< Numbers, or labels as 0 and 1: [n, width]. Empty with classes.
};

/// The kind of targets of a task: classes with their number, numbers, or labels. A metric suits some kinds only.
struct Targets {
  /// Targets with this number of classes; 0: numbers.
  Targets(std::int64_t of_classes)  // NOLINT(google-explicit-constructor): a number of classes is enough
      : kind(of_classes > 0 ? autodiff::TargetKind::kClasses : autodiff::TargetKind::kNumbers), classes(of_classes) {}
  /// Returns targets with several labels a row.
  static Targets multilabel() {
    Targets out(0);
    out.kind = autodiff::TargetKind::kMultilabel;
    return out;
  }

  autodiff::TargetKind kind;  ///< Kind of target.
  std::int64_t classes;       ///< Number of classes; 0: targets are numbers or several labels.
};

/// The targets that a metric is defined for: classes, exactly two classes, numbers, or several labels a row.
enum class MetricTargets { kClasses, kTwoClasses, kNumbers, kLabels };

/// A metric with its properties. exec/train/evaluation.cpp computes the metrics of the table.
struct Metric {
  std::string name;  ///< "f1_macro"; "top<k>" and "quantile<q>" stand for one metric for each number.
  MetricTargets targets = MetricTargets::kClasses;  ///< Targets that it is defined for.
  bool maximize = false;                            ///< True: larger is better.
  std::string help = {};                            ///< Definition in one sentence.
  std::int64_t usual = 0;  ///< Default k of "top<k>" and q (percent) of "quantile<q>"; 0 for other metrics.
  /// Metrics of the caller only: returns the value for these rows. Several threads may call it at once, and no
  /// prediction is NaN.
  std::function<double(const Scored& scored)> compute = {};
  /// Metrics of classes only: definition, in one sentence, for targets with several labels a row. Empty: not defined
  /// for them.
  std::string label_metric = {};
  /// Best possible value, which rounding errors cannot pass; nullopt: none is declared.
  std::optional<double> bound = {};
  /// True: it is NaN on rows in which a class, or a label, has no row or all rows.
  bool needs_all_classes = false;
  /// Least and largest value by definition, or infinity. Unlike `bound`, rounding errors may pass them.
  double least = -std::numeric_limits<double>::infinity(), largest = std::numeric_limits<double>::infinity();
};

/// Returns the table of built-in metrics. "loss" is not in it: it is always measured.
const std::vector<Metric>& metrics();

/// A metric with its number: "top3" is "top<k>" with the number 3.
struct NamedMetric {
  Metric metric;
  std::int64_t number = 0;  ///< k of "top<k>" or q of "quantile<q>"; 0 for other metrics
};
/// Returns the metric with this name. `own` are metrics of the caller, which have priority. k of "top<k>" is at least
/// 2, and q of "quantile<q>" is from 1 to 99. nullopt: there is none.
std::optional<NamedMetric> find_metric(std::string_view name, std::span<const Metric> own = {});

/// Checks that the metric `name` suits the targets. "loss" is not accepted, because it is always measured. Errors:
/// kInvalidArgument (unknown, not for these targets, or k above the number of classes; the message lists the allowed
/// metrics).
Result<void> check_metric(std::string_view name, const Targets& targets, std::span<const Metric> own = {});

/// Returns the metrics that are measured if none are named: accuracy for classes and labels, mae for numbers.
std::vector<std::string> default_metrics(const Targets& targets);

/// Returns the names of built-in metrics that suit the targets, in the order of the table. A metric with a number has
/// its default number, such as "top5"; top<k> is left out if there are at most k classes.
std::vector<std::string> applicable_metrics(const Targets& targets);

/// Returns the metric with the validation value `measured`: "f1_macro" for "val_f1_macro". Empty: `measured` is
/// "val_loss" or does not begin with "val_".
std::string_view validation_metric(std::string_view measured);

/// Returns true if larger is better for a value such as "val_f1_macro", false if smaller is, as for "train_loss" and
/// "params". Only validation values of built-in metrics, the losses, "params" and "flops" are known. nullopt: another
/// name.
std::optional<bool> more_is_better(std::string_view measured);

/// Returns the best possible value of `measured`, a validation value of a built-in metric: 1 for "val_accuracy".
/// nullopt: another name such as "val_loss", or none is declared.
std::optional<double> best_possible(std::string_view measured);

/// The values that a metric can have by its definition.
struct MetricRange {
  double least = -std::numeric_limits<double>::infinity();   ///< Lower bound, included.
  double largest = std::numeric_limits<double>::infinity();  ///< Upper bound, included.
};
/// Returns the range of `measured`, a validation value of a metric or "val_loss": 0 to 1 for "val_accuracy". Every loss
/// is at least 0. Other names, and metrics of the caller without bounds, have an infinite range.
MetricRange range_of(std::string_view measured, std::span<const Metric> own = {});

}  // namespace lanista::study
