#include <algorithm>
#include <functional>
#include <optional>

#include "lanista/app/report/facts.h"
#include "lanista/app/report/page_columns.h"
#include "lanista/app/report/page_data.h"
#include "lanista/search/study/bracket_counts.h"
#include "lanista/search/study/start_race.h"

namespace lanista::report {
namespace {

using nlohmann::json;
using study::StudyView;
using study::TrialView;

constexpr std::size_t kMaxParameters = 24;

/// The mutations since the parent or the base: "widen > deepen x2"; "tuning itself" for a refinement.
std::string own_steps(const StudyView& view, const TrialView& trial) {
  const auto& steps = trial.proposal.steps;
  std::size_t from = 0;
  if (const auto& parent = trial.proposal.parent; parent && parent->value >= 1 && parent->value <= view.trials.size()) {
    const auto& before = view.trials[parent->value - 1].proposal;
    while (before.base == trial.proposal.base && from < std::min(steps.size(), before.steps.size()) &&
           steps[from] == before.steps[from]) {
      ++from;
    }
  }
  std::string text;
  for (std::size_t same = 1; from < steps.size(); from += same) {
    const std::string& name = steps[from].mutator;
    for (same = 1; from + same < steps.size() && steps[from + same].mutator == name;) ++same;
    text += (text.empty() ? "" : " > ") + name + (same > 1 ? " x" + std::to_string(same) : "");
  }
  if (trial.proposal.is_refinement) text += (text.empty() ? "" : " > ") + std::string("tuning itself");
  return text;
}

std::optional<double> number(const space::Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  return std::nullopt;
}

std::string plain_text(const space::Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : space::value_text(value);
}

bool is_log(const space::Domain& domain) {
  return std::visit(
      [](const auto& d) {
        if constexpr (requires { d.log; }) return d.log;
        return false;
      },
      domain);
}

/// The column of a hyper-parameter over the shown trials: real numbers if all values are numbers, else names.
json parameter_column(const StudyView& view, std::span<const std::size_t> rows, const Axis& axis, int width) {
  std::vector<std::string> known;
  bool numeric = true;
  if (const auto* choice = std::get_if<space::Categorical>(&axis.domain)) {
    for (const auto& value : choice->values) {
      known.push_back(plain_text(value));
      numeric = numeric && number(value);
    }
  }
  std::vector<const space::Value*> values;
  for (const std::size_t i : rows) {
    const auto& sample = view.trials[i].proposal.sample;
    const auto it = sample.find(axis.name);
    values.push_back(it == sample.end() ? nullptr : &it->second);
    numeric = numeric && (values.back() == nullptr || number(*values.back()));
  }
  json out{{"name", clip_utf8(axis.name, 200)}, {"log", numeric && is_log(axis.domain)}};
  if (numeric) {
    std::vector<double> numbers;
    for (const auto* value : values) numbers.push_back(value == nullptr ? absent() : *number(*value));
    out["of"] = packed_reals(numbers, width);
  } else {
    std::vector<std::string> texts;
    for (const auto* value : values) texts.push_back(value == nullptr ? "" : plain_text(*value));
    out["of"] = packed_names(texts, known);
  }
  return out;
}

/// 1 for a trial that is off the Pareto front because other trials violate the constraints less.
std::vector<std::int64_t> violates_constraints(const StudyView& view) {
  std::vector<std::int64_t> out(view.trials.size(), 0);
  const std::vector<study::RankingKey> ranked = study::ranking_keys(view);  // least violation first
  for (const study::RankingKey& standing : ranked) {
    out[standing.trial.value - 1] = standing.violation > ranked.front().violation ? 1 : 0;
  }
  return out;
}

std::int64_t state_of(const TrialView& trial) { return static_cast<std::int64_t>(state_number(trial)); }

}  // namespace

json trial_columns(const StudyView& view, std::span<const std::size_t> rows, int width) {
  const std::vector<TrialTimes> times = trial_times(view);
  const auto rank = ranks(view);
  const std::vector<std::int64_t> off_front = violates_constraints(view);
  const auto integers = [&](const std::function<std::int64_t(std::size_t)>& of) {
    std::vector<std::int64_t> values;
    for (const std::size_t i : rows) values.push_back(of(i));
    return packed_integers(values);
  };
  const auto reals = [&](const std::function<double(std::size_t)>& of) {
    std::vector<double> values;
    for (const std::size_t i : rows) values.push_back(of(i));
    return packed_reals(values, width);
  };
  const auto id = [](const std::optional<TrialId>& trial) -> std::int64_t { return trial ? trial->value : 0; };
  const auto last = [&](std::size_t i, std::int64_t study::Measurement::*what) {
    const auto& measurements = view.trials[i].measurements;
    return measurements.empty() ? 0 : measurements.back().*what;
  };

  std::vector<const study::Measurement*> results(view.trials.size(),
                                                 nullptr);  // a duplicate has the result of its original
  for (const std::size_t i : rows) {
    const TrialView& measured = measured_trial(view, view.trials[i]);
    if (!measured.measurements.empty()) results[i] = &study::result_of(view.config, measured);
  }
  std::vector<std::string> how, reason, rungs, start;
  for (const std::size_t i : rows) {
    const TrialView& trial = view.trials[i];
    how.push_back(own_steps(view, trial));
    reason.push_back(trial.outcome ? trial.outcome->reason : "");
    rungs.push_back(study::rungs_text(trial));
    start.push_back(study::start_summary(trial));
  }
  json out{{"count", rows.size()},
           {"id", integers([](std::size_t i) { return static_cast<std::int64_t>(i) + 1; })},
           {"state", integers([&](std::size_t i) { return state_of(view.trials[i]); })},
           {"how", packed_names(how)},
           {"reason", packed_names(reason)},
           {"rungs", packed_names(rungs)},
           {"start", packed_names(start)},
           {"parent", integers([&](std::size_t i) { return id(view.trials[i].proposal.parent); })},
           {"base", integers([&](std::size_t i) { return view.trials[i].proposal.base; })},
           {"budget", integers([&](std::size_t i) { return study::full_epochs(view.trials[i].proposal); })},
           {"epochs", integers([&](std::size_t i) { return last(i, &study::Measurement::epoch); })},
           {"steps", integers([&](std::size_t i) { return last(i, &study::Measurement::step); })},
           {"kept", integers([&](std::size_t i) {
              return view.trials[i].measurements.empty() ? 0 : results[i]->epoch;  // a duplicate did not train
            })},
           {"parameters", integers([&](std::size_t i) { return view.trials[i].parameters; })},
           {"rank", integers([&](std::size_t i) { return rank[i].value_or(0); })},
           {"off_front", integers([&](std::size_t i) { return off_front[i]; })},
           {"same_as", integers([&](std::size_t i) {
              const auto& outcome = view.trials[i].outcome;
              return outcome ? id(outcome->same_as) : 0;
            })},
           {"ended", reals([&](std::size_t i) { return times[i].epochs.empty() ? absent() : times[i].ended; })},
           {"worked", reals([&](std::size_t i) { return times[i].seconds; })}};
  out["metrics"] = json::array();
  for (const std::string& name : page_metrics(view)) {
    json column = reals([&](std::size_t i) {
      const study::Measurement* result = results[i];
      if (result == nullptr) return absent();
      const auto it = result->metrics.find(name);
      return it == result->metrics.end() ? absent() : it->second;
    });
    out["metrics"].push_back({{"name", clip_utf8(name, 200)}, {"of", std::move(column)}});
  }
  out["params"] = json::array();
  for (const Axis& axis : axes(view)) {
    if (out["params"].size() < kMaxParameters) out["params"].push_back(parameter_column(view, rows, axis, width));
  }
  return out;
}

}  // namespace lanista::report
