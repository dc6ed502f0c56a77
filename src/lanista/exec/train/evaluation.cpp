#include "lanista/exec/train/evaluation.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/portable_math.h"
#include "lanista/exec/program/score_metrics.h"
#include "lanista/model/autodiff/loss.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::train {
namespace {

using nn::MetricSums;
using nn::SampleSum;
using Value = std::function<double(const MetricSums& sums)>;

/// What a metric is made of: the number in its name, how many numbers a prediction has, and what is asked of machines.
struct Asking {
  nn::Metrics& asked;
  std::int64_t number;
  std::int64_t width;

  Value mean(SampleSum::Of of, double with) const {
    const std::size_t at = asked.sums.size();
    asked.sums.push_back({of, with});
    return [at](const MetricSums& sums) {
      return (sums.of.empty() ? 0.0 : sums.of[at]) / static_cast<double>(sums.samples);
    };
  }
  Value counted(double (*of)(std::span<const std::int64_t>, std::int64_t)) const {
    asked.confusion = true;
    return whole([of, classes = width](const MetricSums& sums) { return of(sums.confusion, classes); });
  }
  Value in_columns(double (*of)(std::span<const nn::ErrorColumn>, std::int64_t)) const {
    asked.columns = true;
    return whole([of](const MetricSums& sums) { return of(sums.columns, sums.samples); });
  }
  Value ranked(double (*of)(std::span<const double>, std::span<const std::int32_t>, std::int64_t)) const {
    asked.scores = true;
    return whole([of, classes = width](const MetricSums& sums) { return of(sums.scores, sums.labels, classes); });
  }
  Value ranked_labels(double (*of)(std::span<const double>, std::span<const float>, std::int64_t)) const {
    asked.scores = true;
    return whole([of, labels = width](const MetricSums& sums) { return of(sums.scores, sums.targets, labels); });
  }
  /// Of all samples or of none: a prediction that is not a number must not make a set look better by its absence.
  static Value whole(Value of) {
    return [of = std::move(of)](const MetricSums& sums) {
      return sums.samples == 0 || sums.lost > 0 ? std::numeric_limits<double>::quiet_NaN() : of(sums);
    };
  }
};

struct Entry {
  std::string_view name;  // of study::metrics()
  Value (*value)(const Asking& ask);
};

using Of = SampleSum::Of;
constexpr Entry kEntries[] = {
    {"accuracy", [](const Asking& ask) { return ask.mean(Of::kTop, 1); }},
    {"top<k>", [](const Asking& ask) { return ask.mean(Of::kTop, static_cast<double>(ask.number)); }},
    {"balanced_accuracy", [](const Asking& ask) { return ask.counted(nn::balanced_accuracy); }},
    {"f1_macro", [](const Asking& ask) { return ask.counted(nn::f1_macro); }},
    {"log_loss", [](const Asking& ask) { return ask.mean(Of::kLogLoss, 0); }},
    {"perplexity",
     [](const Asking& ask) -> Value {
       return [loss = ask.mean(Of::kLogLoss, 0)](const MetricSums& sums) { return portable_exp(loss(sums)); };
     }},
    {"calibration_error",
     [](const Asking& ask) {
       ask.asked.calibration = true;
       return Asking::whole([](const MetricSums& sums) { return nn::calibration_error(sums.bins); });
     }},
    {"matthews", [](const Asking& ask) { return ask.counted(nn::matthews); }},
    {"roc_auc", [](const Asking& ask) { return ask.ranked(nn::roc_auc); }},
    {"average_precision", [](const Asking& ask) { return ask.ranked(nn::average_precision); }},
    {"f1", [](const Asking& ask) { return ask.counted(nn::f1); }},
    {"mae", [](const Asking& ask) { return ask.mean(Of::kAbsoluteError, 0); }},
    {"rmse", [](const Asking& ask) { return ask.in_columns(nn::rmse); }},
    {"r2", [](const Asking& ask) { return ask.in_columns(nn::r2); }},
    {"mape", [](const Asking& ask) { return ask.mean(Of::kRelativeError, 0); }},
    {"quantile<q>", [](const Asking& ask) { return ask.mean(Of::kPinball, static_cast<double>(ask.number) / 100); }},
};

constexpr Entry kOfLabels[] = {
    {"accuracy", [](const Asking& ask) { return ask.mean(Of::kRightLabels, 0); }},
    {"exact_match", [](const Asking& ask) { return ask.mean(Of::kAllLabels, 0); }},
    {"f1_macro", [](const Asking& ask) { return ask.counted(nn::f1_of_labels); }},
    {"log_loss", [](const Asking& ask) { return ask.mean(Of::kLabelLoss, 0); }},
    {"roc_auc", [](const Asking& ask) { return ask.ranked_labels(nn::roc_auc_of_labels); }},
    {"average_precision", [](const Asking& ask) { return ask.ranked_labels(nn::average_precision_of_labels); }},
};

Value value_of(const study::NamedMetric& named, nn::Metrics& asked, std::int64_t width) {
  if (const auto& compute = named.metric.compute) {
    asked.scores = true;
    return Asking::whole([compute, width](const MetricSums& sums) {
      return compute({.width = width, .scores = sums.scores, .labels = sums.labels, .targets = sums.targets});
    });
  }
  const std::span<const Entry> entries = asked.labels ? std::span<const Entry>(kOfLabels) : kEntries;
  const auto entry = std::ranges::find(entries, named.metric.name, &Entry::name);
  LANISTA_CHECK(entry != entries.end(), "nobody computes metric " + named.metric.name);
  return entry->value({asked, named.number, width});
}

}  // namespace

nn::ProgramOptions program_options_of(const study::Recipe& recipe) {
  static_assert(study::kMaxParts == nn::kMaxParts);
  nn::ProgramOptions options;
  options.max_batch = study::most_batch(recipe);
  options.shards = recipe.shards;
  options.accumulate = recipe.accumulate;
  options.precision = precision_of(recipe.precision);
  return options;
}

nn::TargetUnit unit_of(const data::DataSpec& data) {
  if (!data.target_normalization) return {};
  return {data.target_normalization->mean, data.target_normalization->scale};
}

Evaluation::Evaluation(const std::string& loss, const std::vector<std::string>& metrics, std::int64_t width,
                       std::span<const study::Metric> own, nn::TargetUnit unit)
    : asked_{.loss = loss, .unit = std::move(unit)} {
  const step::Loss* known = step::find_loss(loss);
  LANISTA_CHECK(known != nullptr, "no loss " + loss);
  asked_.labels = known->kind == step::TargetKind::kMultilabel;
  const auto targets = asked_.labels ? study::Targets::multilabel() : study::Targets(known->of_classes() ? width : 0);
  for (const std::string& name : metrics.empty() ? study::default_metrics(targets) : metrics) {
    const auto checked = study::check_metric(name, targets, own);
    LANISTA_CHECK(checked.ok(), checked.error().message);
    values_.emplace_back(name, value_of(*study::find_metric(name, own), asked_, width));
  }
}

std::map<std::string, double> Evaluation::values(const nn::MetricSums& sums, const std::string& prefix) const {
  std::map<std::string, double> out{{prefix + "loss", sums.loss / static_cast<double>(sums.samples)}};
  for (const auto& [name, value] : values_) out[prefix + name] = value(sums);
  return out;
}

}  // namespace lanista::train
