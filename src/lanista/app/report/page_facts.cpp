#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "lanista/app/report/cost_summary.h"
#include "lanista/app/report/facts.h"
#include "lanista/app/report/failures.h"
#include "lanista/app/report/makespan_bound.h"
#include "lanista/app/report/page_columns.h"
#include "lanista/app/report/page_data.h"
#include "lanista/search/study/noise_band.h"
#include "lanista/search/study/select_branches.h"
#include "lanista/search/study/start_race.h"
#include "lanista/search/study/tune_searches.h"
#include "lanista/search/study/worker_usage.h"

namespace lanista::report {
namespace {

using nlohmann::json;
using study::StudyView;

constexpr std::size_t kText = 300, kLongText = 2'000, kConfigText = 40'000;
constexpr std::size_t kMaxFailures = 40;

/// Six significant digits.
json number(double value) {
  if (!std::isfinite(value)) return number_json(value);
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return std::strtod(text, nullptr);
}

std::string scalar_text(const json& value) {
  if (value.is_string()) return clip_utf8(value.get_ref<const std::string&>(), kText);
  return clip_utf8(value.dump(-1, ' ', false, json::error_handler_t::replace), kText);
}

/// A plug-in with its options: "asha: eta 3, rungs [1,3]".
std::string plugin_text(const std::string& name, const Options& options) {
  std::string out = clip_utf8(name, kText);
  const char* separator = ": ";
  if (!options.is_object()) return out;
  for (const auto& [key, value] : options.items()) {
    if (value.empty() || value == "") continue;  // not set
    out += separator + clip_utf8(key, kText) + " " + scalar_text(value);
    separator = ", ";
  }
  return clip_utf8(out, kLongText);
}

/// The epochs at which the stopping rule compares trials, from its options: a list, or min, min·eta, … below max.
std::vector<std::int64_t> rungs(const StudyView& view) {
  const Options& options = view.config.stop.options;
  const std::int64_t epochs = view.config.train.length.epochs;
  std::vector<std::int64_t> out;
  if (!options.is_object()) return out;
  if (const auto it = options.find("rungs"); it != options.end() && it->is_array()) {
    for (const json& rung : *it) {
      if (rung.is_number_integer()) out.push_back(rung.get<std::int64_t>());
    }
  }
  const auto integer = [&](const char* name) {
    const auto it = options.find(name);
    return it != options.end() && it->is_number_integer() ? it->get<std::int64_t>() : 0;
  };
  const std::int64_t eta = integer("eta"), first = integer("min"), max = integer("max");
  const std::int64_t end = max > 0 ? std::min(max, epochs) : epochs;
  if (out.empty() && eta >= 2 && first >= 1) {
    for (std::int64_t rung = first; rung < end; rung *= eta) {
      out.push_back(rung);
      if (rung > end / eta) break;
    }
    if (end < epochs) out.push_back(end);
  }
  std::erase_if(out, [&](std::int64_t rung) { return rung < 1 || rung >= epochs; });
  return out;
}

json data_facts(const json& data) {
  json out = json::object();
  if (!data.is_object()) return out;
  for (const auto* name : {"name", "source", "licence"}) {
    if (const auto it = data.find(name); it != data.end() && it->is_string()) out[name] = scalar_text(*it);
  }
  for (const auto* name : {"features", "classes", "rows", "split_rows"}) {
    if (const auto it = data.find(name); it != data.end() && (it->is_number() || (it->is_array() && it->size() <= 8))) {
      out[name] = *it;
    }
  }
  return out;
}

json budget_facts(const study::BudgetConfig& budget) {
  json out = json::object();
  if (budget.trials) out["trials"] = *budget.trials;
  if (budget.steps) out["steps"] = *budget.steps;
  if (budget.guard_minutes) out["guard_minutes"] = number(*budget.guard_minutes);
  return out;
}

json saving_json(const Saving& saving) {
  return {{"trials", saving.trials},
          {"epochs", saving.epochs},
          {"steps", saving.steps},
          {"seconds", number(saving.seconds)}};
}

json economy_json(const StudyView& view) {
  const CostSummary all = summarize_costs(view);
  return {{"steps", all.steps},
          {"seconds", number(all.seconds)},
          {"together", {{"trials", all.trials_sharing_steps}, {"lanes", all.max_lanes}}},
          {"lost", saving_json(all.failed_trials_cost)},
          {"early_stop", saving_json(all.early_stop)},
          {"dedup", saving_json(all.dedup)}};
}

/// The use of workers; null without spans. `busy` has the busy seconds of the first workers by number.
json work_json(const StudyView& view) {
  constexpr std::int64_t kMaxWorkers = 4096;
  const study::WorkerUsage use = study::worker_usage(view);
  if (use.seconds <= 0) return {};
  std::vector<double> busy;
  for (const auto& [worker, seconds] : use.busy) {
    if (worker < 0 || worker >= kMaxWorkers) continue;
    busy.resize(std::max(busy.size(), static_cast<std::size_t>(worker) + 1));
    busy[static_cast<std::size_t>(worker)] = seconds;
  }
  json each = json::array();
  for (const double seconds : busy) each.push_back(number(seconds));
  const MakespanBound bound = makespan_bound(view);
  return {{"workers", use.workers()},         {"seconds", number(use.seconds)},
          {"busy", std::move(each)},          {"utilisation", number(use.utilisation())},
          {"bound", number(bound.seconds())}, {"bounds", bounds_text(bound)},
          {"gap", number(bound.gap())}};
}

/// The reasons why trials wait, by trial number.
json waits_json(const std::vector<study::Waiting>& waiting) {
  constexpr std::size_t kMost = 1'000;
  json out = json::object();
  for (const study::Waiting& each : waiting) {
    if (out.size() < kMost) out[std::to_string(each.trial.value)] = each.why;
  }
  return out;
}

json failures_json(const StudyView& view) {
  json out = json::array();
  for (const FailureGroup& group : group_failures(view)) {
    if (out.size() == kMaxFailures) break;
    json first = json::array();
    for (const TrialId id : group.first) first.push_back(id.value);
    out.push_back({{"cause", clip_utf8(group.cause, kText)},
                   {"count", group.count},
                   {"first", std::move(first)},
                   {"message", clip_utf8(group.message, kLongText)}});
  }
  return out;
}

/// The number of trials in each state, in the order of "states".
json counts_json(const StudyView& view) {
  std::vector<std::int64_t> counts(8, 0);
  for (const study::TrialView& trial : view.trials) ++counts.at(state_number(trial));
  return counts;
}

json ensemble_facts(const study::Ensemble& ensemble) {
  json members = json::array(), validation = json::object(), test = json::object();
  const std::vector<double> shares = ensemble.shares();
  for (std::size_t k = 0; k < shares.size(); ++k) {
    members.push_back({{"trial", ensemble.members[k].trial.value}, {"share", shares[k]}});
  }
  for (const auto& [name, value] : ensemble.validation) validation[clip_utf8(name, kText)] = number(value);
  for (const auto& [name, value] : ensemble.test) test[clip_utf8(name, kText)] = number(value);
  return {{"members", std::move(members)}, {"validation", std::move(validation)}, {"test", std::move(test)}};
}

/// The baselines with the metrics that the page shows.
json baselines_facts(const StudyView& view) {
  constexpr std::size_t kMost = 8;
  json out = json::array();
  for (const study::Baseline& baseline : view.baselines) {
    if (out.size() == kMost) break;
    json metrics = json::object();
    for (const std::string& name : page_metrics(view)) {
      const auto it = baseline.metrics.find(name);
      if (it != baseline.metrics.end()) metrics[clip_utf8(name, 200)] = number(it->second);
    }
    out.push_back({{"name", clip_utf8(baseline.name, kText)}, {"metrics", std::move(metrics)}});
  }
  return out;
}

/// The lineage of the winner's weights, if it continued from states of other trials: trials, epochs and settings.
json line_facts(const StudyView& view) {
  if (!view.winner) return {};
  const study::TrialView& winner = view.trials.at(view.winner->value - 1);
  if (winner.forks.empty()) return {};
  json line = json::array();
  for (const study::LineageSegment& lineage_segment : study::lineage(view, winner, std::ssize(winner.measurements))) {
    std::string with;
    for (const auto& [name, value] : lineage_segment.sample) {
      with += (with.empty() ? "" : " ") + name + "=" + space::value_text(value);
    }
    line.push_back({{"trial", lineage_segment.trial.value},
                    {"from", lineage_segment.from + 1},
                    {"through", lineage_segment.through},
                    {"with", clip_utf8(with, kText)}});
  }
  return line;
}

json study_json(const StudyView& view, const PageOptions& options) {
  const study::StudyConfig& config = view.config;
  json goals = json::array(), bases = json::array(), test = json::object();
  for (const study::Goal& goal : config.goals) {
    goals.push_back({{"metric", clip_utf8(goal.metric, kText)}, {"maximize", goal.maximize}});
  }
  json constraints = json::array();
  for (const study::Constraint& constraint : config.subject_to) {
    constraints.push_back(clip_utf8(constraint.text(), kText));
  }
  std::vector<std::string> sources = config.model.base;
  const json& space = config.model.space;
  if (!space.is_null()) sources.push_back(space.is_string() ? space.get<std::string>() : "space of models");
  for (std::string base : sources) {
    if (base.starts_with("builtin:")) base.erase(0, 8);
    bases.push_back(clip_utf8(base, kText));
  }
  for (const auto& [name, value] : view.test) test[clip_utf8(name, kText)] = number(value);
  std::int64_t workers = 0;
  for (const study::Span& span : view.spans) workers = std::max(workers, span.worker + 1);
  json out{
      {"name", clip_utf8(config.name, kText)},
      {"folder", clip_utf8(options.folder, kLongText)},
      {"version", clip_utf8(options.version, kText)},
      {"data", data_facts(view.data)},
      {"bases", std::move(bases)},
      {"goals", std::move(goals)},
      {"constraints", std::move(constraints)},
      {"strategy", plugin_text(config.strategy.name, config.strategy.options)},
      {"slots", config.strategy.slots},
      {"stop", plugin_text(config.stop.rule, config.stop.options)},
      {"rungs", rungs(view)},
      {"epochs", config.train.length.epochs},
      {"steps_per_epoch", config.train.length.steps_per_epoch ? json(*config.train.length.steps_per_epoch) : json()},
      {"trial_steps", config.train.length.steps ? json(*config.train.length.steps) : json()},
      {"batch", config.data.batch},
      {"budget", budget_facts(config.budget)},
      {"seed", std::to_string(config.run.seed)},
      {"reload", options.reload_seconds > 0 ? number(options.reload_seconds) : json()},
      {"numerics", plugin_text("", view.numerics)},
      {"workers", workers},
      {"steps", view.steps},
      {"seconds", number(view.seconds)},
      {"ended", view.end_reason ? json(clip_utf8(*view.end_reason, kText)) : json()},
      {"winner", view.winner ? json(view.winner->value) : json()},
      {"test", std::move(test)},
      {"baselines", baselines_facts(view)},
      {"earlier", view.earlier ? json{{"study", clip_utf8(view.earlier->study, kText)},
                                      {"trials", view.earlier->trials.size()},
                                      {"left_out", view.earlier->left_out}}
                               : json()},
      {"config", clip_utf8(view.config_text, kConfigText)}};
  if (const auto verdict = study::baseline_verdict(view, study::ranking_keys(view))) {
    out["unbeaten"] = {{"baseline", clip_utf8(verdict->name, kText)},
                       {"value", number(verdict->value)},
                       {"better", verdict->is_better}};
  }
  if (view.ensemble) out["ensemble"] = ensemble_facts(*view.ensemble);
  if (const std::string zoo = study::zoo_text(view); !zoo.empty()) out["zoo"] = clip_utf8(zoo, kLongText);
  if (const std::string races = study::races_text(view); !races.empty()) out["races"] = races;
  if (const std::string searches = study::searches_text(study::search_counts(view)); !searches.empty()) {
    out["searches"] = searches;
  }
  if (const std::string checks = study::selection_text(view); !checks.empty()) out["selecting"] = checks;
  if (json line = line_facts(view); !line.empty()) out["line"] = std::move(line);
  return out;
}

}  // namespace

json study_facts(const StudyView& view, const PageOptions& options) {
  const std::vector<study::Waiting> waiting = study::trials_waiting(view);
  json states = json::array({"running"});
  for (const auto kind : {study::OutcomeKind::kSucceeded, study::OutcomeKind::kStopped, study::OutcomeKind::kFailed,
                          study::OutcomeKind::kCancelled, study::OutcomeKind::kDuplicate}) {
    states.push_back(study::outcome_name(kind));
  }
  states.push_back("paused");
  states.push_back(study::outcome_name(study::OutcomeKind::kPrunedByRule));
  json out{{"v", 1},
           {"study", study_json(view, options)},
           {"proposed", view.trials.size()},
           {"states", std::move(states)},
           {"counts", counts_json(view)},
           {"economy", economy_json(view)},
           {"work", work_json(view)},
           {"waiting", study::waiting_text(waiting)},
           {"waits", waits_json(waiting)},
           {"failures", failures_json(view)}};
  if (json hosts = host_facts(view); !hosts.is_null()) out["hosts"] = std::move(hosts);
  return out;
}

}  // namespace lanista::report
