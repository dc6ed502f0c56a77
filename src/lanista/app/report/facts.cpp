#include "lanista/app/report/facts.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <type_traits>

namespace lanista::report {
namespace {

using space::Categorical;
using space::Domain;
using space::FloatRange;
using space::IntRange;

FloatRange as_floats(const Domain& range) {
  if (const auto* real = std::get_if<FloatRange>(&range)) return *real;
  const auto& whole = std::get<IntRange>(range);
  return {static_cast<double>(whole.lo), static_cast<double>(whole.hi), 0, whole.log};
}

// Two ranges of one kind keep their grid if both have the same one.
template <class Range>
Range enclosing_range(const Range& a, const Range& b) {
  Range out = a;
  out.lo = std::min(a.lo, b.lo);
  out.hi = std::max(a.hi, b.hi);
  out.log = a.log && b.log;
  if constexpr (std::is_same_v<Range, IntRange>) {
    if (a.step != b.step || (a.lo - b.lo) % a.step != 0) out.step = 1;
  } else {
    const double steps = a.quant > 0 ? (a.lo - b.lo) / a.quant : 0;
    const bool is_shifted =
        a.from_lo && std::abs(steps - std::nearbyint(steps)) > 1e-9 * std::max(1.0, std::abs(steps));
    if (a.quant != b.quant || a.from_lo != b.from_lo || is_shifted) {
      out.quant = 0;
      out.from_lo = false;
    }
  }
  return out;
}

Domain enclosing_range(const std::vector<Domain>& ranges) {
  Domain out = ranges.front();
  for (const Domain& range : ranges) {
    const auto* a = std::get_if<IntRange>(&out);
    const auto* b = std::get_if<IntRange>(&range);
    out = a != nullptr && b != nullptr ? Domain(enclosing_range(*a, *b))
                                       : Domain(enclosing_range(as_floats(out), as_floats(range)));
  }
  return out;
}

void add_value(std::vector<space::Value>& values, const space::Value& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

std::set<space::Value> seen_values(const study::StudyView& view, const std::string& name) {
  std::set<space::Value> values;
  for (const study::TrialView& trial : view.trials) {
    const auto found = trial.proposal.sample.find(name);
    if (found != trial.proposal.sample.end()) values.insert(found->second);
  }
  return values;
}

Domain merge_domains(const std::vector<Domain>& domains, const std::set<space::Value>& seen) {
  const auto is_choice = [](const Domain& domain) { return std::holds_alternative<Categorical>(domain); };
  if (!domains.empty() && std::none_of(domains.begin(), domains.end(), is_choice)) {
    Domain range = enclosing_range(domains);
    const auto fits = [&](const space::Value& value) { return space::domain_contains(range, value); };
    if (std::all_of(seen.begin(), seen.end(), fits)) return range;
  }
  Categorical choice;
  for (const Domain& domain : domains) {
    if (!is_choice(domain)) continue;
    for (const space::Value& value : std::get<Categorical>(domain).values) add_value(choice.values, value);
  }
  for (const space::Value& value : seen) add_value(choice.values, value);
  return choice;
}

}  // namespace

std::vector<Axis> axes(const study::StudyView& view) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<Domain>> domains;
  for (const space::Parameter& parameter : view.config.space.params.parameters()) {
    if (!domains.contains(parameter.name)) names.push_back(parameter.name);
    domains[parameter.name].push_back(parameter.domain);
  }
  std::set<std::string> unknown;
  for (const study::TrialView& trial : view.trials) {
    for (const auto& [name, value] : trial.proposal.sample) {
      if (!domains.contains(name)) unknown.insert(name);
    }
  }
  names.insert(names.end(), unknown.begin(), unknown.end());

  std::vector<Axis> out;
  for (const std::string& name : names) out.push_back({name, merge_domains(domains[name], seen_values(view, name))});
  return out;
}

std::vector<std::string> metric_names(const study::StudyView& view) {
  std::set<std::string> names;
  for (const study::Goal& goal : view.config.goals) names.insert(goal.metric);
  for (const study::TrialView& trial : view.trials) {
    for (const study::Measurement& measurement : trial.measurements) {
      for (const auto& [name, value] : measurement.metrics) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

std::string_view state_name(const study::TrialView& trial) {
  return trial.outcome ? study::outcome_name(trial.outcome->kind) : trial.paused ? "paused" : "running";
}

std::size_t state_number(const study::TrialView& trial) {
  if (trial.outcome && trial.outcome->kind == study::OutcomeKind::kPrunedByRule)
    return 7;  // the outcome is newer than "paused"
  if (trial.outcome) return static_cast<std::size_t>(trial.outcome->kind) + 1;
  return trial.paused ? 6 : 0;
}

std::string base_name(const study::StudyView& view, const study::Proposal& proposal) {
  const auto index = static_cast<std::size_t>(proposal.base);
  if (proposal.base >= 0 && view.models.is_array() && index < view.models.size()) {
    const nlohmann::json& model = view.models[index];
    if (model.is_object() && model.contains("name") && model["name"].is_string()) return model["name"];
  }
  return "base " + std::to_string(proposal.base);
}

std::vector<TrialTimes> trial_times(const study::StudyView& view) {
  std::vector<TrialTimes> times(view.trials.size());
  for (const study::Span& span : view.spans) {
    if (span.trial.value == 0 || span.trial.value > times.size()) continue;
    TrialTimes& trial = times[span.trial.value - 1];
    trial.began = trial.epochs.empty() ? span.began : std::min(trial.began, span.began);
    trial.ended = std::max(trial.ended, span.ended);
    trial.seconds += std::max(0.0, span.ended - span.began);
    double& over = trial.epochs[span.epoch];
    over = std::max(over, span.ended);
  }
  return times;
}

std::vector<std::optional<std::int64_t>> ranks(const study::StudyView& view) {
  std::vector<std::optional<std::int64_t>> out(view.trials.size());
  std::int64_t position = 0;
  for (const TrialId id : study::ranking(view)) out[id.value - 1] = ++position;
  return out;
}

const study::TrialView& measured_trial(const study::StudyView& view, const study::TrialView& trial) {
  const bool original =
      trial.outcome && trial.outcome->kind == study::OutcomeKind::kDuplicate && trial.outcome->same_as;
  if (!original) return trial;
  const std::uint32_t id = trial.outcome->same_as->value;
  return id > 0 && id < trial.id.value ? view.trials[id - 1] : trial;
}

std::string valid_utf8(std::string_view text) { return nlohmann::json::parse(dump(std::string(text))); }

nlohmann::json number_json(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

std::string dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace lanista::report
