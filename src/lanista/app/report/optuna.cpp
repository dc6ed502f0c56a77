#include "lanista/app/report/optuna.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <vector>

#include "lanista/app/report/facts.h"
#include "lanista/base/check.h"
#include "lanista/search/study/pareto.h"

namespace lanista::report {
namespace {

using nlohmann::json;

// Operation codes, directions and states of Optuna's journal.
constexpr int kCreateStudy = 0, kSetStudyUserAttr = 2, kSetStudySystemAttr = 3, kCreateTrial = 4;
constexpr int kMinimize = 1, kMaximize = 2;
enum class State { kRunning = 0, kComplete = 1, kPruned = 2, kFail = 3 };

json operation(int code) { return {{"op_code", code}, {"worker_id", "lanista"}}; }

/// "2026-01-31T23:59:59.000000"
std::string time_text(double unix_seconds) {
  using namespace std::chrono;
  constexpr double kMost = 253402300799;  // the end of the year 9999
  const double whole = std::isfinite(unix_seconds) ? std::clamp(unix_seconds, 0.0, kMost) : 0;
  const sys_time<microseconds> time{microseconds(std::llround(whole * 1e6))};
  const auto day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{time - day};
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%06d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text.data();
}

double as_double(const space::Value& value) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
}

// Optuna's grids begin at the lower bound, end at the upper one, and are never logarithmic.
json distribution(const space::Domain& domain) {
  if (const auto* choice = std::get_if<space::Categorical>(&domain)) {
    json choices = json::array();
    for (const space::Value& value : choice->values) choices.push_back(space::value_json(value));
    return {{"name", "CategoricalDistribution"}, {"attributes", {{"choices", choices}}}};
  }
  if (const auto* range = std::get_if<space::IntRange>(&domain)) {
    const std::int64_t step = range->log ? 1 : range->step;
    const std::int64_t high = range->lo + (range->hi - range->lo) / step * step;
    return {{"name", "IntDistribution"},
            {"attributes", {{"log", range->log}, {"step", step}, {"low", range->lo}, {"high", high}}}};
  }
  const auto& range = std::get<space::FloatRange>(domain);
  double low = range.lo, high = range.hi;
  json step;
  if (range.quant > 0 && !range.log) {
    step = range.quant;
    low = as_double(space::domain_value(domain, 0, 1));
    high = as_double(space::domain_value(domain, *space::domain_size(domain) - 1, 1));
  }
  return {{"name", "FloatDistribution"},
          {"attributes", {{"step", step}, {"low", low}, {"high", high}, {"log", range.log}}}};
}

/// A value as Optuna stores it: the index of a choice, else the number.
json internal_value(const space::Domain& domain, const space::Value& value) {
  const auto* choice = std::get_if<space::Categorical>(&domain);
  if (choice == nullptr) return as_double(value);
  return std::find(choice->values.begin(), choice->values.end(), value) - choice->values.begin();
}

/// The values of all goals; none if one is missing or not finite.
std::optional<std::vector<double>> goal_values(const study::StudyView& view, const study::TrialView& trial) {
  if (trial.measurements.empty()) return std::nullopt;
  const auto& metrics = study::result_of(view.config, trial).metrics;
  std::vector<double> values;
  for (const study::Goal& goal : view.config.goals) {
    const auto found = metrics.find(goal.metric);
    if (found == metrics.end() || !std::isfinite(found->second)) return std::nullopt;
    values.push_back(found->second);
  }
  return values;
}

State state_of(const study::TrialView& trial, bool has_values) {
  if (!trial.outcome) return State::kRunning;
  if (trial.outcome->kind == study::OutcomeKind::kStopped) return State::kPruned;
  return trial.outcome->kind == study::OutcomeKind::kSucceeded && has_values ? State::kComplete : State::kFail;
}

json user_attributes(const study::StudyView& view, const study::TrialView& trial, const TrialTimes& times,
                     const std::optional<std::int64_t>& rank) {
  json out{{"state", state_name(trial)},
           {"graph_hash", trial.proposal.graph_hash.hex()},
           {"base", base_name(view, trial.proposal)},
           {"parameters", trial.parameters},
           {"seconds", number_json(times.seconds)}};
  if (rank) out["rank"] = *rank;
  if (trial.proposal.parent) out["parent"] = trial.proposal.parent->value;
  if (trial.proposal.is_refinement) out["tunes"] = true;
  if (trial.outcome && trial.outcome->same_as) out["same_as"] = trial.outcome->same_as->value;
  if (trial.outcome && trial.outcome->pruned_by) out["implied_by"] = trial.outcome->pruned_by->value;
  if (trial.outcome && !trial.outcome->rule.empty()) out["rule"] = trial.outcome->rule;
  if (trial.outcome && !trial.outcome->reason.empty()) out["reason"] = trial.outcome->reason;
  if (trial.measurements.empty()) return out;
  const study::Measurement& last = trial.measurements.back();
  const study::Measurement& result = study::result_of(view.config, trial);
  out["epochs"] = last.epoch;
  out["steps"] = last.step;
  out["kept_epoch"] = result.epoch;
  for (const auto& [name, value] : result.metrics) out["metrics"][name] = number_json(value);
  return out;
}

json intermediate_values(const study::StudyView& view, const study::TrialView& trial) {
  json out = json::object();
  for (const study::Measurement& measurement : trial.measurements) {
    const auto found = measurement.metrics.find(view.config.goals.front().metric);
    if (found == measurement.metrics.end() || !std::isfinite(found->second)) continue;
    out[std::to_string(measurement.epoch)] = found->second;
  }
  return out;
}

/// The constraints in Optuna's form: one number each, above 0 for a violation. Constraints on values that are known
/// before training are left out, since all trials satisfy them.
json constraints(const study::StudyView& view, const study::TrialView& trial, const space::Sample& sample) {
  json out = json::array();
  if (trial.measurements.empty()) return out;
  constexpr double kMost = std::numeric_limits<double>::max();  // JSON has no infinities
  for (const double excess : study::excesses(view.config.subject_to, study::result_of(view.config, trial), sample)) {
    out.push_back(std::clamp(excess, -kMost, kMost));
  }
  return out;
}

json trial_line(const study::StudyView& view, const study::TrialView& trial, const TrialTimes& times,
                const std::optional<std::int64_t>& rank, const std::vector<Axis>& all, double base_time) {
  const study::TrialView& source = measured_trial(view, trial);
  const auto values = goal_values(view, source);
  // A duplicate of a trial that has not ended has no values.
  const State state = trial.outcome && !source.outcome ? State::kFail : state_of(source, values.has_value());

  json line = operation(kCreateTrial);
  line["study_id"] = 0;
  line["datetime_start"] = time_text(base_time + times.began);
  line["state"] = static_cast<int>(state);
  if (state != State::kRunning) line["datetime_complete"] = time_text(base_time + times.ended);
  if (values && (state == State::kComplete || state == State::kPruned)) line["values"] = *values;
  line["distributions"] = json::object();
  line["params"] = json::object();
  for (const Axis& axis : all) {
    const auto found = trial.proposal.sample.find(axis.name);
    if (found == trial.proposal.sample.end()) continue;
    line["distributions"][axis.name] = dump(distribution(axis.domain));
    line["params"][axis.name] = internal_value(axis.domain, found->second);
  }
  line["intermediate_values"] = intermediate_values(view, source);
  line["user_attrs"] = user_attributes(view, trial, times, rank);
  line["system_attrs"] = json::object();
  if (const json broken = constraints(view, source, trial.proposal.sample); !broken.empty()) {
    line["system_attrs"]["constraints"] = broken;
  }
  return line;
}

}  // namespace

std::string optuna_journal(const study::StudyView& view, double base_time) {
  LANISTA_CHECK(!view.config.goals.empty(), "a study without a goal");
  json create = operation(kCreateStudy), names = operation(kSetStudySystemAttr), maker = operation(kSetStudyUserAttr);
  create["study_name"] = view.config.name;
  json metrics = json::array();
  for (const study::Goal& goal : view.config.goals) {
    create["directions"].push_back(goal.maximize ? kMaximize : kMinimize);
    metrics.push_back(goal.metric);
  }
  names["study_id"] = maker["study_id"] = 0;
  names["system_attr"] = {{"study:metric_names", metrics}};
  maker["user_attr"] = {{"made_by", "lanista"}};

  std::string out = dump(create) + "\n" + dump(names) + "\n" + dump(maker) + "\n";
  const auto all = axes(view);
  const auto times = trial_times(view);
  const auto trial_ranks = ranks(view);
  for (std::size_t i = 0; i < view.trials.size(); ++i) {
    out += dump(trial_line(view, view.trials[i], times[i], trial_ranks[i], all, base_time)) + "\n";
  }
  return out;
}

}  // namespace lanista::report
