#include "lanista/exec/train/evaluation.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/base/portable_math.h"
#include "lanista/exec/program/score_metrics.h"
#include "lanista/model/autodiff/loss.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::train {
namespace {

using program::MetricSums;
using program::SampleSum;
using Value = std::function<double(const MetricSums& sums)>;

/// The inputs of a metric: the number in its name, the size of a prediction, and the requested sums.
struct MetricBuilder {
  program::Metrics& requested;
  std::int64_t number;
  std::int64_t width;

  Value mean(SampleSum::Of of, double with) const {
    const std::size_t at = requested.sums.size();
    requested.sums.push_back({of, with});
    return [at](const MetricSums& sums) {
      return (sums.of.empty() ? 0.0 : sums.of[at]) / static_cast<double>(sums.samples);
    };
  }
  Value from_confusion(double (*of)(std::span<const std::int64_t>, std::int64_t)) const {
    requested.confusion = true;
    return nan_unless_complete([of, classes = width](const MetricSums& sums) { return of(sums.confusion, classes); });
  }
  Value from_error_columns(double (*of)(std::span<const program::ErrorColumn>, std::int64_t)) const {
    requested.columns = true;
    return nan_unless_complete([of](const MetricSums& sums) { return of(sums.columns, sums.samples); });
  }
  Value from_scores(double (*of)(std::span<const double>, std::span<const std::int32_t>, std::int64_t)) const {
    requested.scores = true;
    return nan_unless_complete(
        [of, classes = width](const MetricSums& sums) { return of(sums.scores, sums.labels, classes); });
  }
  Value from_label_scores(double (*of)(std::span<const double>, std::span<const float>, std::int64_t)) const {
    requested.scores = true;
    return nan_unless_complete(
        [of, labels = width](const MetricSums& sums) { return of(sums.scores, sums.targets, labels); });
  }
  /// Returns a value that is NaN if any prediction is NaN, so that missing predictions cannot improve it.
  static Value nan_unless_complete(Value of) {
    return [of = std::move(of)](const MetricSums& sums) {
      return sums.samples == 0 || sums.num_nan > 0 ? std::numeric_limits<double>::quiet_NaN() : of(sums);
    };
  }
};

struct MetricEntry {
  std::string_view name;  // in study::metrics()
  Value (*value)(const MetricBuilder& builder);
};

using Of = SampleSum::Of;
constexpr MetricEntry kMetricEntries[] = {
    {"accuracy", [](const MetricBuilder& builder) { return builder.mean(Of::kTop, 1); }},
    {"top<k>",
     [](const MetricBuilder& builder) { return builder.mean(Of::kTop, static_cast<double>(builder.number)); }},
    {"balanced_accuracy",
     [](const MetricBuilder& builder) { return builder.from_confusion(program::balanced_accuracy); }},
    {"f1_macro", [](const MetricBuilder& builder) { return builder.from_confusion(program::f1_macro); }},
    {"log_loss", [](const MetricBuilder& builder) { return builder.mean(Of::kLogLoss, 0); }},
    {"perplexity",
     [](const MetricBuilder& builder) -> Value {
       return [loss = builder.mean(Of::kLogLoss, 0)](const MetricSums& sums) { return portable_exp(loss(sums)); };
     }},
    {"calibration_error",
     [](const MetricBuilder& builder) {
       builder.requested.calibration = true;
       return MetricBuilder::nan_unless_complete(
           [](const MetricSums& sums) { return program::calibration_error(sums.bins); });
     }},
    {"matthews", [](const MetricBuilder& builder) { return builder.from_confusion(program::matthews); }},
    {"roc_auc", [](const MetricBuilder& builder) { return builder.from_scores(program::roc_auc); }},
    {"average_precision", [](const MetricBuilder& builder) { return builder.from_scores(program::average_precision); }},
    {"f1", [](const MetricBuilder& builder) { return builder.from_confusion(program::f1); }},
    {"mae", [](const MetricBuilder& builder) { return builder.mean(Of::kAbsoluteError, 0); }},
    {"rmse", [](const MetricBuilder& builder) { return builder.from_error_columns(program::rmse); }},
    {"r2", [](const MetricBuilder& builder) { return builder.from_error_columns(program::r2); }},
    {"mape", [](const MetricBuilder& builder) { return builder.mean(Of::kRelativeError, 0); }},
    {"quantile<q>",
     [](const MetricBuilder& builder) {
       return builder.mean(Of::kPinball, static_cast<double>(builder.number) / 100);
     }},
};

constexpr MetricEntry kLabelMetricEntries[] = {
    {"accuracy", [](const MetricBuilder& builder) { return builder.mean(Of::kRightLabels, 0); }},
    {"exact_match", [](const MetricBuilder& builder) { return builder.mean(Of::kAllLabels, 0); }},
    {"f1_macro", [](const MetricBuilder& builder) { return builder.from_confusion(program::f1_of_labels); }},
    {"log_loss", [](const MetricBuilder& builder) { return builder.mean(Of::kLabelLoss, 0); }},
    {"roc_auc", [](const MetricBuilder& builder) { return builder.from_label_scores(program::roc_auc_of_labels); }},
    {"average_precision",
     [](const MetricBuilder& builder) { return builder.from_label_scores(program::average_precision_of_labels); }},
};

/// Numbers [n, origin.size()] in double with the origins added; without origins unchanged.
template <class T>
std::vector<double> with_origin(std::span<const T> numbers, const std::vector<double>& origin) {
  std::vector<double> out(numbers.begin(), numbers.end());
  for (std::size_t i = 0; i < out.size() && !origin.empty(); ++i) out[i] += origin[i % origin.size()];
  return out;
}

Value value_of(const study::NamedMetric& named, program::Metrics& requested, std::int64_t width) {
  if (const auto& compute = named.metric.compute) {
    requested.scores = true;
    return MetricBuilder::nan_unless_complete([compute, width, origin = requested.unit.origin](const MetricSums& sums) {
      const std::vector<double> targets = with_origin(std::span(sums.targets), origin);
      if (origin.empty()) {
        return compute({.width = width, .scores = sums.scores, .labels = sums.labels, .targets = targets});
      }
      const std::vector<double> scores = with_origin(std::span(sums.scores), origin);
      return compute({.width = width, .scores = scores, .labels = sums.labels, .targets = targets});
    });
  }
  const std::span<const MetricEntry> entries =
      requested.labels ? std::span<const MetricEntry>(kLabelMetricEntries) : kMetricEntries;
  const auto entry = std::ranges::find(entries, named.metric.name, &MetricEntry::name);
  LANISTA_CHECK(entry != entries.end(), "no function computes metric " + named.metric.name);
  return entry->value({requested, named.number, width});
}

}  // namespace

program::ProgramOptions program_options_of(const study::Recipe& recipe) {
  static_assert(study::kMaxBatchParts == program::kMaxBatchParts);
  program::ProgramOptions options;
  options.max_batch = study::largest_batch(recipe);
  options.shards = recipe.shards;
  options.accumulate = recipe.accumulate;
  options.precision = precision_of(recipe.precision);
  return options;
}

program::TargetScaling target_scaling_of(const data::DataSpec& data) {
  const auto stored = data.stored_target_normalization();
  if (!stored) return {};
  return {stored->mean, stored->scale, data.target_origin};
}

Evaluation::Evaluation(const std::string& loss, const std::vector<std::string>& metrics, std::int64_t width,
                       std::span<const study::Metric> own, program::TargetScaling unit)
    : requested_{.loss = loss, .unit = std::move(unit)} {
  const autodiff::Loss* known = autodiff::find_loss(loss);
  LANISTA_CHECK(known != nullptr, "unknown loss " + loss);
  requested_.labels = known->kind == autodiff::TargetKind::kMultilabel;
  const auto targets =
      requested_.labels ? study::Targets::multilabel() : study::Targets(known->of_classes() ? width : 0);
  for (const std::string& name : metrics.empty() ? study::default_metrics(targets) : metrics) {
    const auto checked = study::check_metric(name, targets, own);
    LANISTA_CHECK(checked.ok(), checked.error().message);
    values_.emplace_back(name, value_of(*study::find_metric(name, own), requested_, width));
  }
}

std::map<std::string, double> Evaluation::values(const program::MetricSums& sums, const std::string& prefix) const {
  std::map<std::string, double> out{{prefix + "loss", sums.loss / static_cast<double>(sums.samples)}};
  for (const auto& [name, value] : values_) out[prefix + name] = value(sums);
  return out;
}

}  // namespace lanista::train
