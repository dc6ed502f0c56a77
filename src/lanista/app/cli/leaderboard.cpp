#include "lanista/app/cli/leaderboard.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "lanista/app/cli/terminal.h"
#include "lanista/app/cli/text_table.h"
#include "lanista/search/study/bracket_counts.h"
#include "lanista/search/study/noise_band.h"
#include "lanista/search/study/pareto.h"
#include "lanista/search/study/select_branches.h"
#include "lanista/search/study/start_race.h"

namespace lanista::cli {
namespace {

constexpr std::size_t kChoicesWidth = 48;  ///< characters of the choices inside a model in the table

std::string short_real(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

double value_or_zero(const study::Measurement& measurement, const std::string& metric) {
  const auto it = measurement.metrics.find(metric);
  return it == measurement.metrics.end() ? 0.0 : it->second;
}

double own_metric(const engine::StudyView& view, const engine::TrialView& trial, const std::string& metric) {
  return value_or_zero(study::result_of(view.config, trial), metric);
}

bool is_cost(const std::string& metric) { return metric == "params" || metric == "flops"; }

/// The metric of a proposal: that of its only training, or the average of several at the last epoch that all of them
/// measured, with their spread. Over folds the spread is the standard error of the average.
std::string metric_text(const engine::StudyView& view, const engine::TrialView& trial, const std::string& metric) {
  if (is_cost(metric)) return short_number(own_metric(view, trial, metric));
  const std::vector<study::Measurement> joint = study::joint_results(view.config, study::trainings_of(view, trial));
  if (joint.size() < 2) return four_digits(own_metric(view, trial, metric));
  std::vector<const study::Measurement*> together;
  for (const study::Measurement& m : joint) together.push_back(&m);
  const double center = value_or_zero(study::average(view.config, together), metric);
  const auto spread = study::spread_of(together, metric);
  if (!spread) return four_digits(center);
  return four_digits(center) + " +-" + four_digits(view.config.data.folds ? spread->standard_error : spread->deviation);
}

/// "9" for the last of nine epochs, "4/9" for the fourth.
std::string epochs_text(const engine::StudyView& view, const engine::TrialView& trial) {
  const std::int64_t last = trial.measurements.back().epoch, kept = study::result_of(view.config, trial).epoch;
  return (kept == last ? "" : std::to_string(kept) + "/") + std::to_string(last);
}

// "val_accuracy" of the winner is "test_accuracy" on the test part.
std::string test_name(const std::string& metric) {
  return metric.starts_with("val_") ? "test_" + metric.substr(4) : std::string();
}

std::string value_text(const std::map<std::string, double>& metrics, const std::string& name) {
  const auto found = metrics.find(name);
  return found == metrics.end() ? "?" : four_digits(found->second);
}

}  // namespace

std::string lineage_text(const engine::StudyView& view, const study::Proposal& proposal) {
  const auto base = static_cast<std::size_t>(proposal.base);
  const bool named = view.models.is_array() && base < view.models.size();
  std::string text = named ? view.models[base].value("name", "") : "base " + std::to_string(base);
  std::size_t same = 0;
  for (std::size_t i = 0; i < proposal.steps.size(); i += same) {
    same = 1;
    while (i + same < proposal.steps.size() && proposal.steps[i + same].mutator == proposal.steps[i].mutator) ++same;
    text += " > " + proposal.steps[i].mutator + (same > 1 ? " x" + std::to_string(same) : "");
  }
  return printable(text + (proposal.is_refinement ? " > tuned" : ""));
}

std::string choices_text(const space::Sample& sample, std::size_t width) {
  std::string text;
  for (const auto& [name, value] : sample) {
    if (!space::is_model_choice(name)) continue;
    const std::string choice = name.substr(space::kModelPrefix.size()) + "=" + space::value_text(value);
    if (choice.size() + 1 + text.size() > width) return text + " ...";
    text += (text.empty() ? "" : " ") + printable(choice);
  }
  return text;
}

std::string sample_text(const space::Sample& sample) {
  std::string text;
  if (const auto it = sample.find("optimizer"); it != sample.end()) text = space::value_text(it->second);
  for (const auto& [name, value] : sample) {
    if (name == "optimizer" || space::is_model_choice(name)) continue;
    const auto* real = std::get_if<double>(&value);
    text += (text.empty() ? "" : " ") + name + " " + (real != nullptr ? short_real(*real) : space::value_text(value));
  }
  return printable(text);
}

std::string baseline_words(const std::string& name) {
  constexpr std::pair<const char*, const char*> kWords[] = {
      {"constant", "the same prediction for every row"}, {"linear", "a linear model"}, {"trees", "boosted trees"}};
  const auto* words = std::ranges::find(kWords, name, &std::pair<const char*, const char*>::first);
  return words != std::end(kWords) ? words->second : printable(name);
}

std::string baselines_text(const engine::StudyView& view) {
  if (view.config.goals.empty()) return {};
  const std::string& metric = view.config.goals.front().metric;
  std::string text;
  for (const study::Baseline& baseline : view.baselines) {
    const auto value = baseline.metrics.find(metric), test = baseline.metrics.find(test_name(metric));
    if (value == baseline.metrics.end()) continue;
    text += (text.empty() ? "" : ", ") + four_digits(value->second) +
            (test != baseline.metrics.end() ? " (test " + four_digits(test->second) + ")" : "") + " by " +
            baseline_words(baseline.name);
  }
  if (text.empty()) return text;
  text = " without a search: " + printable(metric) + " " + text + "\n";
  if (const auto verdict = study::baseline_verdict(view, study::ranking_keys(view))) {
    const std::string are = verdict->name == "trees" ? " are" : " is";
    text += " " + baseline_words(verdict->name) + are +
            (verdict->is_better ? " better than the best trial: " : " as good as the best trial, within the noise: ") +
            printable(metric) + " " + four_digits(verdict->value) + " against " + four_digits(verdict->best) + "\n";
  }
  return text;
}

std::string noise_text(const engine::StudyView& view) {
  const auto noise = study::noise_band(view, study::ranking_keys(view));
  if (!noise) return {};
  const std::int64_t others = noise->trials - 1;
  const std::string by = noise->trainings > 0 ? "the spread of its " + std::to_string(noise->trainings) + " trainings"
                                              : "its " + std::to_string(noise->rows) + " validation rows";
  return " by " + by + ", the best is between " + four_digits(noise->band.low) + " and " +
         four_digits(noise->band.high) + " (95 %); " +
         (others == 0   ? std::string("no other trial is in this range")
          : others == 1 ? std::string("1 other trial is in this range")
                        : std::to_string(others) + " other trials are in this range") +
         "\n";
}

std::string ensemble_members_text(const study::Ensemble& ensemble, const std::string& metric) {
  std::string members;
  const std::vector<double> shares = ensemble.shares();
  for (std::size_t k = 0; k < shares.size(); ++k) {
    char text[16];
    std::snprintf(text, sizeof text, "%.0f %%", 100 * shares[k]);
    members += (k == 0 ? "#" : ", #") + std::to_string(ensemble.members[k].trial.value) + " " + text;
  }
  return members + ": " + printable(metric) + " " + value_text(ensemble.validation, metric);
}

/// The shares of proposals, each named by its first training: "#3 40 %, #7 60 %".
std::string proposals_text(const engine::StudyView& view) {
  std::map<Digest, std::pair<TrialId, std::int64_t>> proposals;
  std::vector<Digest> order;
  std::int64_t sum = 0;
  for (const study::Ensemble::Member& member : view.ensemble->members) {
    const Digest key = study::decisions_key(view.trials[member.trial.value - 1].proposal);
    const auto [found, is_new] = proposals.try_emplace(key, member.trial, 0);
    if (is_new) order.push_back(key);
    found->second.second += member.selections;
    sum += member.selections;
  }
  if (order.size() < 2) return {};
  std::string out;
  for (const Digest& key : order) {
    const auto& [trial, selections] = proposals.at(key);
    char share[16];
    std::snprintf(share, sizeof share, "%.0f %%", 100.0 * static_cast<double>(selections) / static_cast<double>(sum));
    out += (out.empty() ? "#" : ", #") + std::to_string(trial.value) + " " + share;
  }
  return out;
}

/// The content of best/ if it blends the trainings of one proposal on all folds, or those of several proposals.
std::string folds_blend_text(const engine::StudyView& view) {
  if (!view.winner || !view.ensemble) return {};
  const std::string& metric = view.config.goals.front().metric;
  const std::string test = test_name(metric);
  std::string members;
  for (const auto& member : view.ensemble->members) {
    members += (members.empty() ? "#" : ", #") + std::to_string(member.trial.value);
  }
  const auto tested = [&](const std::map<std::string, double>& metrics) {
    return metrics.contains(test) ? " (test " + value_text(metrics, test) + ")" : std::string();
  };
  if (const std::string proposals = proposals_text(view); !proposals.empty()) {
    return " best/ blends all trainings of " + proposals + ": " + printable(metric) + " " +
           value_text(view.ensemble->validation, metric) + tested(view.ensemble->test) + "; training #" +
           std::to_string(view.winner->value) + " alone is DIR#" + std::to_string(view.winner->value) +
           tested(view.test) + "\n";
  }
  return " best/ blends the winner's " + std::to_string(view.ensemble->members.size()) + " trainings " + members +
         tested(view.ensemble->test) + "; #" + std::to_string(view.winner->value) + " alone" +
         (view.test.contains(test) ? tested(view.test) : " is DIR#" + std::to_string(view.winner->value)) + "\n";
}

std::string ensemble_text(const engine::StudyView& view) {
  if (view.config.data.folds) return folds_blend_text(view);
  if (!view.winner || view.config.keep.ensemble < 2) return {};
  const std::string winner = "#" + std::to_string(view.winner->value);
  if (!view.ensemble) return " best/ is " + winner + " alone: no ensemble of kept trials is better on validation\n";
  const std::string& metric = view.config.goals.front().metric;
  const std::string test = test_name(metric);
  const auto& alone = study::result_of(view.config, view.trials[view.winner->value - 1]).metrics;
  return " best/ blends " + ensemble_members_text(*view.ensemble, metric) + " (test " +
         value_text(view.ensemble->test, test) + "); " + winner + " alone " + value_text(alone, metric) + " (test " +
         value_text(view.test, test) + ")\n";
}

/// A line for each constraint that is undefined for ranked trials, with their number and the first reason.
std::string undefined_text(const engine::StudyView& view, const std::vector<study::RankingKey>& ranked) {
  std::map<std::string, std::pair<std::int64_t, std::string>> undefined;
  for (const study::RankingKey& key : ranked) {
    const auto& trial = view.trials[key.trial.value - 1];
    const auto& result = study::result_of(view.config, trial);
    for (const auto& [text, reason] :
         study::undefined_constraints(view.config.subject_to, result, trial.proposal.sample)) {
      const auto found = undefined.try_emplace(text, 0, "#" + std::to_string(trial.id.value) + ": " + reason).first;
      ++found->second.first;
    }
  }
  std::string out;
  for (const auto& [text, seen] : undefined) {
    out += " the constraint " + printable(text) + " is undefined for " + std::to_string(seen.first) + " of " +
           std::to_string(ranked.size()) + " trials (" + printable(seen.second) + ")\n";
  }
  return out;
}

std::string leaderboard(const engine::StudyView& view, std::size_t top) {
  const std::vector<study::RankingKey> ranked = study::ranking_keys(view);
  if (ranked.empty()) return " no finished trial yet\n";
  const auto& goals = view.config.goals;
  const std::vector<TrialId> front = goals.size() > 1 ? study::pareto_front(ranked) : std::vector<TrialId>();
  TableRow head{"rank", "trial"};
  std::vector<bool> right{true, true};
  for (const auto& goal : goals) {
    head.push_back(goal.metric);
    right.push_back(true);
  }
  const std::string test = test_name(goals.front().metric);
  const bool shows_params =
      std::none_of(goals.begin(), goals.end(), [](const auto& g) { return g.metric == "params"; });
  for (const auto* name : {"test", "params", "epochs"}) {
    if (!shows_params && std::string_view(name) == "params") continue;
    head.emplace_back(name);
    right.push_back(true);
  }
  const bool shows_rungs = std::ranges::any_of(view.trials, [](const auto& trial) { return !trial.rungs.empty(); });
  if (shows_rungs) {
    head.emplace_back("rungs");
    right.push_back(false);
  }
  head.insert(head.end(), {"how it was made", "trained with"});
  right.insert(right.end(), {false, false});

  std::vector<TableRow> rows{head};
  bool any_stopped = false, any_broken = false, any_earlier = false, any_incomplete = false;
  for (std::size_t i = 0; i < std::min(top, ranked.size()); ++i) {
    const auto& trial = view.trials[ranked[i].trial.value - 1];
    const bool in_front = std::find(front.begin(), front.end(), trial.id) != front.end();
    const bool broken = ranked[i].violation > 0;
    any_broken = any_broken || broken;
    any_incomplete = any_incomplete || ranked[i].is_incomplete;
    TableRow row{std::to_string(i + 1), "#" + std::to_string(trial.id.value) +
                                            (broken     ? "!"
                                             : in_front ? "+"
                                                        : "") +
                                            (ranked[i].is_incomplete ? "-" : "")};
    for (const auto& goal : goals) row.push_back(metric_text(view, trial, goal.metric));
    const auto tested = view.test.find(test);
    row.push_back(view.winner == trial.id && tested != view.test.end() ? four_digits(tested->second) : "");
    if (shows_params) row.push_back(short_number(static_cast<double>(trial.parameters)));
    const bool stopped = trial.outcome && trial.outcome->kind == study::OutcomeKind::kStopped;
    any_stopped = any_stopped || stopped;
    const std::string epochs = epochs_text(view, trial);
    any_earlier = any_earlier || epochs.find('/') != std::string::npos;
    row.push_back(epochs + (stopped ? "*" : ""));
    if (shows_rungs) row.push_back(study::rungs_text(trial));
    const std::string choices = choices_text(trial.proposal.sample, kChoicesWidth);
    row.push_back(lineage_text(view, trial.proposal) + (choices.empty() ? "" : " " + choices));
    row.push_back(sample_text(trial.proposal.sample));
    rows.push_back(std::move(row));
  }
  std::string text = text_table(rows, right);
  text += ensemble_text(view) + noise_text(view) + baselines_text(view);
  if (const std::string zoo = study::zoo_text(view); !zoo.empty()) text += " " + printable(zoo) + "\n";
  if (const std::string races = study::races_text(view); !races.empty()) text += " " + printable(races) + "\n";
  if (const std::string checks = study::selection_text(view); !checks.empty()) text += " " + printable(checks) + "\n";
  if (any_stopped) text += " * ended early by the stopping rule\n";
  if (any_earlier) text += " k/n the best of n epochs was the k-th: its weights and metrics are those of the trial\n";
  if (!front.empty()) text += " + on the Pareto front of " + std::to_string(front.size()) + "\n";
  if (any_broken) text += " ! breaks a constraint\n";
  if (any_incomplete) text += " - some of its trainings were cancelled: it ranks after all complete ones\n";
  text += undefined_text(view, ranked);
  if (const auto folds = view.config.data.folds) {
    const std::int64_t dealings = view.config.strategy.repeat;
    text += " " + printable(view.config.strategy.average) + " +- standard error over " + std::to_string(*folds) +
            " folds" + (dealings > 1 ? ", assigned " + std::to_string(dealings) + " times" : "") +
            "; the trial is the best of them\n";
  } else if (view.config.strategy.repeat > 1) {
    text += " " + printable(view.config.strategy.average) + " +- deviation over " +
            std::to_string(view.config.strategy.repeat) + " trainings; the trial is the best of them\n";
  }
  return text;
}

}  // namespace lanista::cli
