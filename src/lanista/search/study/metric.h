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

/// Predictions and what they should have been, rows in the order of the data.
struct Scored {
  std::int64_t width = 0;                     ///< numbers of a prediction: classes, or targets
  std::span<const double> scores;             ///< [n, width]: logits of classes, or numbers in the targets' own unit
  std::span<const std::int32_t> labels = {};  ///< [n], of classes
  std::span<const float> targets = {};        ///< [n, width], of numbers; of labels 0 or 1, with logits as scores
};

/// The targets that something is to suit.
struct Targets {
  Targets(std::int64_t of_classes)  // NOLINT(google-explicit-constructor): a number of classes says it all; 0: numbers
      : kind(of_classes > 0 ? step::TargetKind::kClasses : step::TargetKind::kNumbers), classes(of_classes) {}
  static Targets multilabel() {
    Targets out(0);
    out.kind = step::TargetKind::kMultilabel;
    return out;
  }

  step::TargetKind kind;
  std::int64_t classes;  ///< 0: there are none
};

enum class MetricTargets { kClasses, kTwoClasses, kNumbers, kLabels };

/// A measure of predictions: everything the system knows about it but how it is computed (train/evaluation.cpp).
struct Metric {
  std::string name;  ///< "f1_macro"; "top<k>" and "quantile<q>" stand for one metric each number
  MetricTargets targets = MetricTargets::kClasses;
  bool maximize = false;                                     ///< whether larger is better
  std::string help = {};                                     ///< its definition in a sentence
  std::int64_t usual = 0;                                    ///< the number of "top<k>" where nobody says one
  std::function<double(const Scored& scored)> compute = {};  ///< of a caller's metric: its value; may be called by
                                                             ///< several threads, and sees no not-a-number
  std::string label_metric = {};  ///< of a metric of classes: what it is of several labels a row; empty: not for them
  std::optional<double> bound = {};  ///< no value is better, not by rounding either; nullopt: nobody says so
};

/// All metrics of ours. "loss" is none of them: it is always measured.
const std::vector<Metric>& metrics();

/// A metric as studies name it: "top3" is "top<k>" with the number 3.
struct NamedMetric {
  Metric metric;
  std::int64_t number = 0;
};
/// `own` are a caller's, which come first. nullopt: there is none of that name.
std::optional<NamedMetric> find_metric(std::string_view name, std::span<const Metric> own = {});

/// Whether a metric suits such targets. "loss" is always measured and not asked for by
/// name. Errors: kInvalidArgument naming the metric and what is allowed.
Result<void> check_metric(std::string_view name, const Targets& targets, std::span<const Metric> own = {});

/// What is measured where nothing is asked for: accuracy of classes and labels, mae of numbers.
std::vector<std::string> default_metrics(const Targets& targets);

/// The names of all of ours that suit such targets, in the order of the table; of those with a number the usual one.
std::vector<std::string> applicable_metrics(const Targets& targets);

/// "accuracy, top<k>, balanced_accuracy, …", for help.
std::string metric_list();

/// The metric whose value on the validation part is called `measured`: "f1_macro" of "val_f1_macro". Empty: it is the
/// name of something else.
std::string_view validation_metric(std::string_view measured);

/// Whether more is better of what a trial may be compared by: "val_f1_macro", "train_loss", "params". nullopt: it is
/// the name of nothing that we know.
std::optional<bool> more_is_better(std::string_view measured);

/// The best value that may be measured of what a trial may be compared by: 1 of "val_accuracy". nullopt: there is none,
/// or nobody has declared one.
std::optional<double> best_possible(std::string_view measured);

}  // namespace lanista::study
