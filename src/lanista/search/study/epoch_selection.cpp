#include "lanista/search/study/epoch_selection.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "lanista/base/check.h"
#include "lanista/search/study/pareto.h"
#include "lanista/search/study/record_table.h"

namespace lanista::study {
namespace {

void table(fields::FieldTable& t, Goal& goal) { t("maximize", goal.maximize)("metric", goal.metric); }

void table(fields::FieldTable& t, SelectionRule& rule) {
  t.list("goals", rule.goals, table);
  t.list("subject_to", rule.constraints, std::mem_fn(&Constraint::text),
         [](const nlohmann::json& text) { return Constraint::parse(text.get_ref<const std::string&>()); });
}

}  // namespace

SelectionRule selection_rule(const StudyConfig& config) {
  SelectionRule rule;
  if (config.train.measured.keep != kKeepBestEpoch) return rule;
  std::ranges::copy_if(config.goals, std::back_inserter(rule.goals),
                       [](const Goal& goal) { return is_metric(goal.metric); });
  if (!rule.selects_best()) return rule;
  if (auto tie = tie_breaking_goal(config)) rule.goals.push_back(*std::move(tie));
  std::ranges::copy_if(config.subject_to, std::back_inserter(rule.constraints),
                       [](const Constraint& constraint) { return constraint.is_measured(); });
  return rule;
}

nlohmann::json selection_rule_json(const SelectionRule& rule) { return fields::write_table(rule, table); }
Result<SelectionRule> selection_rule_from_json(const nlohmann::json& json) {
  return fields::read_table<SelectionRule>("selection rule", json, table);
}

EpochSelector::EpochQuality EpochSelector::standing(const Measurement& measurement) const {
  EpochQuality out;
  for (const double loss : losses(rule_.goals, measurement)) {
    out.losses.emplace_back(std::isnan(loss), std::isnan(loss) ? 0 : loss);
  }
  out.lost = out.losses.front().first;
  out.violation = violation(rule_.constraints, measurement, known_);
  return out;
}

// While no epoch has a number for the first goal, a later epoch is better.
bool EpochSelector::is_better(const EpochQuality& seen) const {
  return !best_ || (best_->lost && seen.lost) || seen < *best_;
}

bool EpochSelector::improves(const Measurement& measurement) const {
  return !selects_best() || is_better(standing(measurement));
}

bool EpochSelector::observe(const Measurement& measurement) {
  if (!selects_best()) return true;
  EpochQuality seen = standing(measurement);
  if (!is_better(seen)) return false;
  best_ = std::move(seen);
  return true;
}

std::size_t selected_index(EpochSelector selector, std::span<const Measurement> measurements) {
  LANISTA_CHECK(!measurements.empty(), "nothing was measured");
  if (!selector.selects_best()) return measurements.size() - 1;
  std::size_t selected = 0;
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    if (selector.observe(measurements[i])) selected = i;
  }
  return selected;
}

std::vector<Measurement> selected_measurements(EpochSelector selector, std::span<const Measurement> measurements) {
  std::vector<Measurement> out(measurements.begin(), measurements.end());
  if (!selector.selects_best()) return out;
  std::size_t selected = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (selector.observe(measurements[i])) selected = i;
    if (selected != i) out[i].metrics = measurements[selected].metrics;
  }
  return out;
}

}  // namespace lanista::study
