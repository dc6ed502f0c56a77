#include "lanista/search/study/noise_band.h"

#include <algorithm>
#include <cmath>

#include "lanista/search/study/metric.h"

namespace lanista::study {
namespace {

/// Returns true for a metric that is a share of rows. With several labels a row, accuracy is a share of labels instead.
bool is_share_of_rows(std::string_view measured, bool multilabel) {
  const auto found = find_metric(validation_metric(measured));
  if (!found) return false;
  const std::string& name = found->metric.name;
  return multilabel ? name == "exact_match" : name == "accuracy" || name == "top<k>";
}

bool is_comparable(const RankingKey& standing) {
  return !standing.is_incomplete && standing.violation == 0 && !standing.losses.at(0).first;
}

/// Returns the number of trials with a loss of at most `loss`.
std::int64_t trials_below(const std::vector<RankingKey>& ranked, double loss) {
  return std::ranges::count_if(
      ranked, [&](const RankingKey& standing) { return is_comparable(standing) && standing.losses[0].second <= loss; });
}

std::optional<NoiseBand> band_of_folds(const StudyView& view, const std::vector<RankingKey>& ranked, bool multilabel) {
  const Goal& goal = view.config.goals[0];
  const TrialView& best = view.trials[ranked[0].trial.value - 1];
  const std::vector<Measurement> joint = joint_results(view.config, trainings_of(view, best));
  std::vector<const Measurement*> together;
  for (const Measurement& m : joint) together.push_back(&m);
  const auto spread = spread_of(together, goal.metric);
  if (!goal.metric.starts_with("val_") || !spread || !std::isfinite(spread->deviation)) return std::nullopt;
  const double n = static_cast<double>(joint.size());
  const double folds = static_cast<double>(view.config.data.folds.value_or(2));
  const double half = student_quantile(std::ssize(joint) - 1) * spread->deviation * std::sqrt(1 / n + 1 / (folds - 1));
  NoiseBand out{
      .band = {spread->mean - half, spread->mean + half}, .rows = 0, .trainings = std::ssize(joint), .trials = 0};
  // With the first rules only shares end at their range.
  const bool is_limited = view.config.data.rules > kFirstRules || is_share_of_rows(goal.metric, multilabel);
  const MetricRange range = is_limited ? range_of(goal.metric) : MetricRange();
  out.band = {std::max(range.least, out.band.low), std::min(range.largest, out.band.high)};
  out.trials = trials_below(ranked, goal.maximize ? -out.band.low : out.band.high);
  return out;
}

}  // namespace

double student_quantile(std::int64_t freedom) {
  constexpr double kFirst[] = {12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600, 2.26216};
  if (freedom <= std::ssize(kFirst)) return kFirst[std::max<std::int64_t>(freedom, 1) - 1];
  // Abramowitz and Stegun 26.7.5, four terms.
  const double z = 1.959963984540054, v = static_cast<double>(freedom), z2 = z * z;
  return z + z * (z2 + 1) / (4 * v) + z * ((5 * z2 + 16) * z2 + 3) / (96 * v * v) +
         z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * v * v * v);
}

ConfidenceInterval wilson_interval(double share, std::int64_t rows) {
  constexpr double kZ = 1.959963984540054;  // the normal distribution's 97.5 %
  const double n = static_cast<double>(rows), z2 = kZ * kZ / n;
  const double center = share + z2 / 2, half = kZ * std::sqrt((share * (1 - share) + z2 / 4) / n);
  return {std::max(0.0, (center - half) / (1 + z2)), std::min(1.0, (center + half) / (1 + z2))};
}

std::optional<NoiseBand> noise_band(const StudyView& view, const std::vector<RankingKey>& ranked) {
  const auto& goals = view.config.goals;
  if (goals.size() != 1 || ranked.empty() || ranked[0].violation > 0) return std::nullopt;
  const bool multilabel = view.data.is_object() && view.data.value("multilabel", false);
  if (view.config.data.folds) return band_of_folds(view, ranked, multilabel);
  if (!goals[0].maximize || !is_share_of_rows(goals[0].metric, multilabel)) return std::nullopt;
  if (trainings_per_proposal(view.config) > 1) return std::nullopt;
  const auto score = [](const RankingKey& standing) { return -standing.losses.at(0).second; };
  const auto rows = view.data.is_object() ? view.data.find("split_rows") : view.data.end();
  if (ranked[0].losses.at(0).first || rows == view.data.end() || !rows->is_array() || rows->size() != 3)
    return std::nullopt;
  NoiseBand out{.band = {}, .rows = (*rows)[1].get<std::int64_t>(), .trainings = 0, .trials = 0};
  if (out.rows < 1) return std::nullopt;
  out.band = wilson_interval(score(ranked[0]), out.rows);
  out.trials = trials_below(ranked, -out.band.low);
  return out;
}

std::optional<BaselineVerdict> baseline_verdict(const StudyView& view, const std::vector<RankingKey>& ranked) {
  if (view.config.data.rules == kFirstRules) return std::nullopt;
  if (ranked.empty() || ranked.front().losses.empty() || ranked.front().losses.front().first) return std::nullopt;
  const Goal& goal = view.config.goals.front();
  const double sign = goal.maximize ? -1 : 1;
  const auto better = [&](double a, double b) { return sign * a < sign * b; };
  BaselineVerdict out{.name = "", .value = 0, .best = sign * ranked.front().losses.front().second};
  if (view.ensemble) {
    const auto blended = view.ensemble->validation.find(goal.metric);
    if (blended != view.ensemble->validation.end() && better(blended->second, out.best)) out.best = blended->second;
  }
  for (const Baseline& baseline : view.baselines) {
    const auto found = baseline.metrics.find(goal.metric);
    if (found == baseline.metrics.end() || !std::isfinite(found->second)) continue;
    if (!out.name.empty() && !better(found->second, out.value)) continue;
    out.name = baseline.name;
    out.value = found->second;
  }
  if (out.name.empty()) return std::nullopt;
  out.is_better = better(out.value, out.best);
  if (out.is_better || out.value == out.best) return out;
  const auto noise = noise_band(view, ranked);
  if (!noise || out.value < noise->band.low || out.value > noise->band.high) return std::nullopt;
  return out;
}

}  // namespace lanista::study
