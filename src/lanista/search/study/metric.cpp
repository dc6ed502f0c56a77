#include "lanista/search/study/metric.h"

#include <algorithm>
#include <utility>

#include "lanista/base/edit_distance.h"
#include "lanista/base/enum_table.h"
#include "lanista/base/parse_number.h"

namespace lanista::study {
namespace {

constexpr std::int64_t kMinRank = 2;  // rank 1 is accuracy
constexpr std::int64_t kMaxPercent = 99;
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// Returns "top" for "top<k>"; empty for a name without a number.
std::string_view stem(std::string_view name) {
  const std::size_t place = name.find('<');
  return place == std::string_view::npos ? std::string_view() : name.substr(0, place);
}

bool number_fits(const Metric& metric, std::int64_t number) {
  if (stem(metric.name).empty()) return true;
  return metric.targets == MetricTargets::kNumbers ? number >= 1 && number <= kMaxPercent : number >= kMinRank;
}

bool suits(const Metric& metric, const Targets& targets) {
  switch (metric.targets) {
    case MetricTargets::kClasses:
      return targets.classes > 0 || (targets.kind == autodiff::TargetKind::kMultilabel && !metric.label_metric.empty());
    case MetricTargets::kTwoClasses:
      return targets.classes == 2;
    case MetricTargets::kNumbers:
      return targets.kind == autodiff::TargetKind::kNumbers;
    case MetricTargets::kLabels:
      return targets.kind == autodiff::TargetKind::kMultilabel;
  }
  return false;
}

std::string allowed_text(const Metric& metric, std::int64_t classes) {
  if (stem(metric.name).empty()) return metric.name;
  if (metric.targets == MetricTargets::kNumbers)
    return metric.name + " with q from 1 to " + std::to_string(kMaxPercent);
  return metric.name + " with k from 2 to " + std::to_string(classes);
}

/// Returns a row of the table with values in [least, largest] by definition.
Metric within(double least, double largest, Metric metric) {
  metric.least = least;
  metric.largest = largest;
  return metric;
}

/// Returns a row of the table with `bound` as its best value, and `worst` as its worst by definition.
Metric between(double bound, double worst, Metric metric) {
  metric.bound = bound;
  return within(std::min(bound, worst), std::max(bound, worst), std::move(metric));
}

/// Returns a row of the table that needs rows of every class.
Metric needing_all_classes(Metric metric) {
  metric.needs_all_classes = true;
  return metric;
}

constexpr EnumTable<MetricTargets, const char*, 4> kTargetNames{{{MetricTargets::kClasses, "classes"},
                                                                 {MetricTargets::kTwoClasses, "two classes"},
                                                                 {MetricTargets::kNumbers, "numbers"},
                                                                 {MetricTargets::kLabels, "labels"}}};

}  // namespace

const std::vector<Metric>& metrics() {
  using enum MetricTargets;
  static const std::vector<Metric> all{
      between(1, 0,
              {"accuracy",
               kClasses,
               true,
               "share of rows with the label's logit as the largest; of equal logits the first counts",
               0,
               {},
               "share of right labels, over all rows and labels; a row has a label if its logit is above 0"}),
      between(1, 0, {"exact_match", kLabels, true, "share of rows with all labels right"}),
      between(1, 0, {"top<k>", kClasses, true, "share of rows with the label among the k largest logits", 5}),
      between(1, 0, {"balanced_accuracy", kClasses, true, "mean recall over the classes with rows"}),
      between(1, 0,
              {"f1_macro",
               kClasses,
               true,
               "mean f1 over the classes that are a label or a prediction; 0 / 0 is 0",
               0,
               {},
               "mean f1 over all labels; 0 / 0 is 0"}),
      between(0, kUnlimited,
              {"log_loss",
               kClasses,
               false,
               "mean of -log of the label's probability by softmax",
               0,
               {},
               "mean over rows and labels of -log of the true value's probability by the sigmoid"}),
      between(1, kUnlimited,
              {"perplexity", kClasses, false,
               "e to the power of log_loss: the number of equally likely classes with this loss"}),
      between(0, 1,
              {"calibration_error", kClasses, false,
               "mean difference between the largest probability and the accuracy, in 15 bins of that probability"}),
      within(
          -1, 1,
          {"matthews", kClasses, true, "correlation of labels and predictions (Matthews); 0 where either is constant"}),
      needing_all_classes(between(
          1, 0,
          {"roc_auc",
           kClasses,
           true,
           "area under the ROC curve by the score of class 1; of more classes the mean of each against the rest",
           0,
           {},
           "mean of the areas over all labels"})),
      between(
          1, 0,
          {"average_precision",
           kClasses,
           true,
           "sum of precision times gained recall by the score of class 1; of more classes the mean of each against the "
           "rest",
           0,
           {},
           "mean over all labels"}),
      between(1, 0, {"f1", kTwoClasses, true, "harmonic mean of precision and recall of class 1; 0 / 0 is 0"}),
      between(0, kUnlimited, {"mae", kNumbers, false, "mean absolute error"}),
      between(0, kUnlimited,
              {"rmse", kNumbers, false, "root of the mean squared error; of several targets the mean of their roots"}),
      between(1, -kUnlimited,
              {"r2", kNumbers, true,
               "1 minus squared errors / squared distances of targets from their mean; of several targets the mean"}),
      between(0, kUnlimited,
              {"mape", kNumbers, false, "mean of absolute error / size of the target (at least 2.2e-16); 0.1 is 10 %"}),
      between(0, kUnlimited,
              {"quantile<q>", kNumbers, false,
               "pinball loss: q % of what predictions fall short of targets, 100 - q % of what they exceed them", 90}),
  };
  return all;
}

std::optional<NamedMetric> find_metric(std::string_view name, std::span<const Metric> own) {
  const auto among = [&](std::span<const Metric> table) -> std::optional<NamedMetric> {
    for (const Metric& metric : table) {
      if (const std::string_view word = stem(metric.name); word.empty()) {
        if (metric.name == name) return NamedMetric{metric};
      } else if (name.starts_with(word)) {
        const auto number = parse_number<std::int64_t>(name.substr(word.size()));
        if (number && number_fits(metric, *number)) return NamedMetric{metric, *number};
      }
    }
    return std::nullopt;
  };
  if (auto found = among(own)) return found;
  return among(metrics());
}

Result<void> check_metric(std::string_view name, const Targets& targets, std::span<const Metric> own) {
  const std::int64_t classes = targets.classes;
  const auto found = find_metric(name, own);
  const bool ranks = found && found->metric.targets == MetricTargets::kClasses && found->number > classes;
  if (found && suits(found->metric, targets) && !ranks) return {};
  std::string allowed;
  std::vector<std::string> names = applicable_metrics(targets);
  const auto add = [&](const Metric& metric) {
    if (suits(metric, targets)) allowed += (allowed.empty() ? "" : ", ") + allowed_text(metric, classes);
  };
  for (const Metric& metric : own) {
    add(metric);
    names.push_back(metric.name);
  }
  for (const Metric& metric : metrics()) add(metric);
  const std::string near = nearest_name(name, names);
  const std::string why =
      found && !ranks ? std::string(", it is for ") + entry_of(kTargetNames, found->metric.targets) : "";
  return Error{Code::kInvalidArgument,
               "metric '" + std::string(name) + "' does not fit" + why + "; allowed: " + allowed +
                   (near.empty() ? "" : "; did you mean '" + near + "'?"),
               "train.metrics"};
}

std::vector<std::string> default_metrics(const Targets& targets) {
  return {targets.kind == autodiff::TargetKind::kNumbers ? "mae" : "accuracy"};
}

std::vector<std::string> applicable_metrics(const Targets& targets) {
  std::vector<std::string> names;
  for (const Metric& metric : metrics()) {
    if (!suits(metric, targets)) continue;
    const std::string_view word = stem(metric.name);
    // With at most k classes, every class is among the k largest.
    if (!word.empty() && metric.targets == MetricTargets::kClasses && metric.usual >= targets.classes) continue;
    names.push_back(word.empty() ? metric.name : std::string(word) + std::to_string(metric.usual));
  }
  return names;
}

std::string_view validation_metric(std::string_view measured) {
  constexpr std::string_view kPart = "val_";
  if (!measured.starts_with(kPart) || measured == "val_loss") return {};
  return measured.substr(kPart.size());
}

std::optional<bool> more_is_better(std::string_view measured) {
  for (const std::string_view less : {"train_loss", "val_loss", "params", "flops"}) {
    if (measured == less) return false;
  }
  const auto found = find_metric(validation_metric(measured));
  return found ? std::optional(found->metric.maximize) : std::nullopt;
}

std::optional<double> best_possible(std::string_view measured) {
  const auto found = find_metric(validation_metric(measured));
  return found ? found->metric.bound : std::nullopt;
}

MetricRange range_of(std::string_view measured, std::span<const Metric> own) {
  if (measured == "val_loss") return {.least = 0};
  const auto found = find_metric(validation_metric(measured), own);
  return found ? MetricRange{found->metric.least, found->metric.largest} : MetricRange{};
}

}  // namespace lanista::study
