#include "lanista/search/study/trainings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "lanista/base/enum_table.h"

namespace lanista::study {
namespace {

/// Returns the mean or the median of the values; NaN if one of them is.
double middle(std::vector<double> values, bool median) {
  for (const double value : values) {
    if (std::isnan(value)) return value;
  }
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  if (median) return n % 2 == 1 ? values[n / 2] : values[n / 2 - 1] / 2 + values[n / 2] / 2;
  double sum = 0;
  for (const double value : values) sum += value / static_cast<double>(n);
  return sum;
}

}  // namespace

void TrainingCounts::count(OutcomeKind kind) {
  static constexpr EnumTable<OutcomeKind, std::int64_t TrainingCounts::*, 6> kCounters{
      {{OutcomeKind::kSucceeded, &TrainingCounts::succeeded},
       {OutcomeKind::kStopped, &TrainingCounts::stopped},
       {OutcomeKind::kFailed, &TrainingCounts::failed},
       {OutcomeKind::kCancelled, &TrainingCounts::cancelled},
       {OutcomeKind::kDuplicate, &TrainingCounts::duplicate},
       {OutcomeKind::kPrunedByRule, &TrainingCounts::implied}}};
  ++(this->*entry_of(kCounters, kind));
}

std::int64_t trainings_per_proposal(const StudyConfig& config) {
  return config.strategy.repeat * config.data.folds.value_or(1);
}

std::int64_t trainings_missing(const StudyConfig& config, const TrainingCounts& tally) {
  // Means over different sets of folds are not comparable, so all folds are trained, even after an early stop.
  const std::int64_t stopped = config.data.folds ? 0 : tally.stopped;
  if (stopped + tally.cancelled + tally.duplicate + tally.implied > 0 || tally.failed > config.strategy.retry) return 0;
  return std::max<std::int64_t>(0, trainings_per_proposal(config) + tally.failed - tally.proposed);
}

OutcomeKind joint_outcome(const StudyConfig& config, const TrainingCounts& tally) {
  if (tally.duplicate > 0) return OutcomeKind::kDuplicate;
  if (tally.failed > config.strategy.retry) return OutcomeKind::kFailed;
  if (tally.implied > 0) return OutcomeKind::kPrunedByRule;
  if (tally.cancelled > 0 && config.data.rules > kFirstRules) return OutcomeKind::kCancelled;
  if (tally.stopped > 0) return OutcomeKind::kStopped;
  return tally.cancelled > 0 ? OutcomeKind::kCancelled : OutcomeKind::kSucceeded;
}

std::vector<std::vector<const Measurement*>> common_measurements(
    const std::vector<std::span<const Measurement>>& trainings) {
  std::map<std::int64_t, std::vector<const Measurement*>> by_epoch;
  for (const auto training : trainings) {
    for (const Measurement& m : training) by_epoch[m.epoch].push_back(&m);
  }
  std::vector<std::vector<const Measurement*>> out;
  for (auto& [epoch, all] : by_epoch) {
    if (all.size() == trainings.size()) out.push_back(std::move(all));
  }
  return out;
}

Measurement average(const StudyConfig& config, const std::vector<const Measurement*>& measurements) {
  Measurement out = *measurements.front();
  for (const Measurement* m : measurements) {
    out.trial = std::min(out.trial, m->trial);
    out.epoch = std::min(out.epoch, m->epoch);
    out.step = std::min(out.step, m->step);
  }
  std::erase_if(out.metrics, [&](const auto& metric) {
    return std::any_of(measurements.begin(), measurements.end(),
                       [&](const Measurement* m) { return !m->metrics.contains(metric.first); });
  });
  for (auto& [name, value] : out.metrics) {
    std::vector<double> values;
    for (const Measurement* m : measurements) values.push_back(m->metrics.at(name));
    value = middle(std::move(values), config.strategy.average == "median");
  }
  return out;
}

std::optional<Spread> spread_of(const std::vector<const Measurement*>& measurements, const std::string& metric) {
  const auto lacks = [&](const Measurement* m) { return !m->metrics.contains(metric); };
  if (measurements.size() < 2 || std::any_of(measurements.begin(), measurements.end(), lacks)) return std::nullopt;
  const double count = static_cast<double>(measurements.size());
  Spread out;
  for (const Measurement* m : measurements) out.mean += m->metrics.at(metric) / count;
  for (const Measurement* m : measurements) {
    const double off = m->metrics.at(metric) - out.mean;
    out.deviation += off * off;
  }
  out.deviation = std::sqrt(out.deviation / (count - 1));
  out.standard_error = out.deviation / std::sqrt(count);
  return out;
}

}  // namespace lanista::study
