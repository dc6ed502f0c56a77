#include "lanista/app/report/compare.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <type_traits>
#include <utility>

#include "lanista/app/report/facts.h"
#include "lanista/base/check.h"
#include "lanista/search/study/metric.h"
#include "lanista/search/study/tune_searches.h"

namespace lanista::report {
namespace {

using nlohmann::json;
using study::StudyView;
using study::TrialView;
using ComparedMetric = StudyComparison::ComparedMetric;
using BestStep = StudyComparison::BestStep;

constexpr std::size_t kMaxSteps = 500;

/// The trainings of a study in the order in which they ended; without times, in the order of trials.
std::vector<std::pair<double, const TrialView*>> trainings(const StudyView& view) {
  const std::vector<TrialTimes> times = trial_times(view);
  std::vector<std::pair<double, const TrialView*>> out;
  for (std::size_t i = 0; i < view.trials.size(); ++i) {
    const TrialView& trial = view.trials[i];
    if (trial.outcome && !trial.measurements.empty()) out.emplace_back(times[i].ended, &trial);
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

/// The value that an ended trial adds to a metric: its result. With folds it is the average of its proposal's
/// trainings, once the last of them has ended, because folds count only together.
struct NewResult {
  study::Measurement result;
  study::RankingKey standing;
};

std::optional<NewResult> new_result_of(const StudyView& view, const TrialView& trial, const std::set<TrialId>& seen) {
  if (!view.config.data.folds) {
    if (!study::ranks(trial, *trial.outcome)) return std::nullopt;
    return NewResult{study::result_of(view.config, trial), study::standing(view.config, trial)};
  }
  const auto together = study::trainings_of(view, trial);
  const bool last = std::ranges::all_of(
      together, [&](const TrialView* each) { return seen.contains(each->id) || each->measurements.empty(); });
  const auto standing = last ? study::joint_ranking_key(view.config, together) : std::nullopt;
  const auto results = study::joint_results(view.config, together);
  if (!standing || results.empty()) return std::nullopt;
  std::vector<const study::Measurement*> averaged;
  for (const study::Measurement& result : results) averaged.push_back(&result);
  return NewResult{study::average(view.config, averaged), *standing};
}

std::vector<BestStep> best_steps(const StudyView& view, const ComparedMetric& measure) {
  std::vector<BestStep> out;
  std::int64_t count = 0;
  std::set<TrialId> seen;
  std::pair<double, double> best;  // violation of constraints, then the loss
  for (const auto& [ended, trial] : trainings(view)) {
    ++count;
    seen.insert(trial->id);
    const auto added = new_result_of(view, *trial, seen);
    if (!added) continue;
    const auto found = added->result.metrics.find(measure.metric);
    if (found == added->result.metrics.end() || std::isnan(found->second)) continue;
    const std::pair<double, double> now{added->standing.violation, measure.maximize ? -found->second : found->second};
    if (!out.empty() && !(now < best)) continue;
    best = now;
    out.push_back({count, ended, found->second, added->standing.trial});
  }
  return out;
}

std::set<std::string> measured_metrics(const StudyView& view) {
  std::set<std::string> out;
  for (const TrialView& trial : view.trials) {
    for (const study::Measurement& m : trial.measurements) {
      for (const auto& [name, value] : m.metrics) out.insert(name);
    }
  }
  return out;
}

std::string goals_text(const StudyView& view) {
  std::string out;
  for (const study::Goal& goal : view.config.goals) {
    out += (out.empty() ? "" : ", ") + std::string(goal.maximize ? "maximize " : "minimize ") + goal.metric;
  }
  return out;
}

/// Whether larger is better, by the goals of the studies or by the metric itself. None if it is unknown, or if the
/// studies disagree.
std::optional<bool> direction(const std::vector<ComparedStudy>& studies, const std::string& metric) {
  std::optional<bool> out;
  for (const ComparedStudy& of : studies) {
    for (const study::Goal& goal : of.view->config.goals) {
      if (goal.metric != metric) continue;
      if (out && *out != goal.maximize) return std::nullopt;
      out = goal.maximize;
    }
  }
  return out ? out : study::more_is_better(metric);
}

/// The metrics that all studies have measured; goals of any study are first.
std::vector<ComparedMetric> shared_metrics(const std::vector<ComparedStudy>& studies) {
  std::set<std::string> shared = measured_metrics(*studies.front().view);
  for (const ComparedStudy& of : studies) {
    const std::set<std::string> own = measured_metrics(*of.view);
    std::erase_if(shared, [&](const std::string& name) { return !own.contains(name); });
  }
  std::vector<std::string> order;
  for (const ComparedStudy& of : studies) {
    for (const study::Goal& goal : of.view->config.goals) {
      if (shared.erase(goal.metric) > 0) order.push_back(goal.metric);
    }
  }
  order.insert(order.end(), shared.begin(), shared.end());
  std::vector<ComparedMetric> out;
  for (const std::string& metric : order) {
    if (const auto more = direction(studies, metric)) out.push_back({metric, *more});
  }
  return out;
}

void choose_metrics(const std::vector<ComparedStudy>& studies, StudyComparison& out) {
  const auto same = [&](const ComparedStudy& of) {
    const auto& a = studies.front().view->config.goals;
    const auto& b = of.view->config.goals;
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const study::Goal& x, const study::Goal& y) {
      return x.metric == y.metric && x.maximize == y.maximize;
    });
  };
  if (std::all_of(studies.begin(), studies.end(), same)) {
    for (const study::Goal& goal : studies.front().view->config.goals) {
      out.measures.push_back({goal.metric, goal.maximize});
    }
    return;
  }
  std::string goals;
  for (const ComparedStudy& of : studies) goals += (goals.empty() ? "" : "; ") + of.name + ": " + goals_text(*of.view);
  out.measures = shared_metrics(studies);
  out.notes.push_back("The studies have different goals (" + goals + "). " +
                      (out.measures.empty() ? "They share no metric with a known direction."
                                            : "They are compared by the metrics that all of them measured."));
}

std::string text_member(const json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Adds notes on differences that change the meaning of equal metrics.
void note_differences(const std::vector<ComparedStudy>& studies, StudyComparison& out) {
  const StudyView& first = *studies.front().view;
  const auto differ = [&](const auto& of) {
    return std::any_of(studies.begin(), studies.end(),
                       [&](const ComparedStudy& s) { return of(*s.view) != of(first); });
  };
  if (differ([](const StudyView& v) { return text_member(v.data, "hash"); })) {
    out.notes.emplace_back("The studies are on different data, so their values are for different rows.");
  } else if (differ([](const StudyView& v) { return v.config.data.split; })) {
    out.notes.emplace_back("The studies split the same data differently, so their validation rows differ.");
  }
  if (differ([](const StudyView& v) { return v.config.train.loss.name; })) {
    out.notes.emplace_back("The studies have different losses, so loss and val_loss have different scales.");
  }
  if (std::any_of(studies.begin(), studies.end(), [](const ComparedStudy& s) { return !s.view->end_reason; })) {
    out.notes.emplace_back("Not every study has ended, so its numbers may change.");
  }
}

/// The settings of a resolved file by key: "train.epochs". Lines of lists belong to the key above them.
std::vector<std::pair<std::string, std::string>> settings_of(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> out;
  std::vector<std::pair<std::size_t, std::string>> above;  // indentation and key
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    line.erase(0, indent);
    if (line.empty() || line.front() == '#') continue;
    const bool item = line.starts_with("- ");
    while (!above.empty() && above.back().first >= indent) above.pop_back();
    std::string path;
    for (const auto& [depth, key] : above) path += (path.empty() ? "" : ".") + key;
    if (item) {
      if (!out.empty() && out.back().first == path) {
        out.back().second += ", " + line.substr(2);
      } else {
        out.emplace_back(path, line.substr(2));
      }
      continue;
    }
    const std::size_t colon = line.find(':');
    const std::string key = line.substr(0, colon);
    const std::string value = colon == std::string::npos ? "" : line.substr(std::min(line.size(), colon + 2));
    if (value.empty()) {
      above.emplace_back(indent, key);
    } else {
      out.emplace_back(path.empty() ? key : path + "." + key, value);
    }
  }
  return out;
}

StudyComparison::Study compared_study_of(const ComparedStudy& of, const std::vector<ComparedMetric>& measures) {
  const StudyView& view = *of.view;
  StudyComparison::Study out;
  out.name = of.name;
  out.ended = view.end_reason;
  out.strategy = study::strategy_text(view.config);
  out.data = text_member(view.data, "name");
  out.trials = view.trials.size();
  for (const TrialView& trial : view.trials) {
    out.failed += trial.outcome && trial.outcome->kind == study::OutcomeKind::kFailed ? 1 : 0;
  }
  out.trainings = static_cast<std::int64_t>(trainings(view).size());
  out.steps = view.steps;
  out.seconds = view.seconds;
  out.test = view.test;
  for (const ComparedMetric& measure : measures) out.best.push_back(best_steps(view, measure));
  return out;
}

json value_json_or_null(const std::optional<double>& value) { return value ? number_json(*value) : json(); }

json curve_json(const std::vector<BestStep>& best) {
  json trial = json::array(), after = json::array(), seconds = json::array(), value = json::array();
  // The last steps matter most, and the first one is the start of the curve.
  for (std::size_t k = 0; k < best.size(); ++k) {
    if (k > 0 && best.size() - k >= kMaxSteps) continue;
    trial.push_back(best[k].trial.value);
    after.push_back(best[k].trainings);
    seconds.push_back(number_json(best[k].seconds));
    value.push_back(number_json(best[k].value));
  }
  return {{"trial", std::move(trial)},
          {"trainings", std::move(after)},
          {"seconds", std::move(seconds)},
          {"value", std::move(value)}};
}

template <class Mark>
std::vector<Mark> quarter_points(Mark least) {
  std::vector<Mark> out;
  for (const int part : {4, 2, 1}) {
    const Mark mark = std::is_integral_v<Mark> ? (least + part - 1) / part : least / part;
    if (mark > 0 && (out.empty() || mark > out.back())) out.push_back(mark);
  }
  return out;
}

}  // namespace

std::vector<StudyComparison::Difference> differing_settings(const std::vector<std::string>& resolved) {
  std::vector<std::string> keys;
  std::vector<std::map<std::string, std::string>> settings;
  for (const std::string& text : resolved) {
    auto& own = settings.emplace_back();
    for (auto& [key, value] : settings_of(text)) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
      own[key] = std::move(value);
    }
  }
  std::vector<StudyComparison::Difference> out;
  for (const std::string& key : keys) {
    StudyComparison::Difference difference{key, {}};
    for (auto& own : settings) difference.values.push_back(own[key]);
    const auto& values = difference.values;
    if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) != values.end()) {
      out.push_back(std::move(difference));
    }
  }
  return out;
}

StudyComparison compare(const std::vector<ComparedStudy>& studies) {
  LANISTA_CHECK(studies.size() >= 2, "a comparison needs two studies");
  StudyComparison out;
  choose_metrics(studies, out);
  note_differences(studies, out);
  for (const ComparedStudy& of : studies) out.studies.push_back(compared_study_of(of, out.measures));
  std::vector<std::string> resolved;
  for (const ComparedStudy& of : studies) resolved.push_back(of.settings);
  out.differences = differing_settings(resolved);
  return out;
}

std::optional<double> best_after_trainings(const std::vector<BestStep>& best, std::int64_t trainings) {
  std::optional<double> out;
  for (const BestStep& step : best) {
    if (step.trainings <= trainings) out = step.value;
  }
  return out;
}

std::optional<double> best_after_seconds(const std::vector<BestStep>& best, double seconds) {
  std::optional<double> out;
  for (const BestStep& step : best) {
    if (step.seconds <= seconds) out = step.value;
  }
  return out;
}

std::vector<std::int64_t> training_milestones(const StudyComparison& comparison) {
  std::int64_t least = comparison.studies.front().trainings;
  for (const StudyComparison::Study& of : comparison.studies) least = std::min(least, of.trainings);
  return quarter_points(least);
}

std::vector<double> seconds_milestones(const StudyComparison& comparison) {
  double least = comparison.studies.front().seconds;
  for (const StudyComparison::Study& of : comparison.studies) least = std::min(least, of.seconds);
  return quarter_points(std::isfinite(least) ? least : 0.0);
}

json compare_json(const StudyComparison& comparison) {
  json measures = json::array(), studies = json::array(), differences = json::array();
  for (const ComparedMetric& measure : comparison.measures) {
    measures.push_back({{"metric", measure.metric}, {"maximize", measure.maximize}});
  }
  const auto training_counts = training_milestones(comparison);
  const auto seconds = seconds_milestones(comparison);
  for (const StudyComparison::Study& of : comparison.studies) {
    json best = json::array(), test = json::object();
    for (const auto& records : of.best) {
      json after = json::array(), after_seconds = json::array();
      for (const auto mark : training_counts) after.push_back(value_json_or_null(best_after_trainings(records, mark)));
      for (const auto mark : seconds) after_seconds.push_back(value_json_or_null(best_after_seconds(records, mark)));
      best.push_back({{"value", records.empty() ? json() : number_json(records.back().value)},
                      {"trial", records.empty() ? json() : json(records.back().trial.value)},
                      {"after_trainings", std::move(after)},
                      {"after_seconds", std::move(after_seconds)},
                      {"curve", curve_json(records)}});
    }
    for (const auto& [name, value] : of.test) test[name] = number_json(value);
    studies.push_back({{"name", of.name},
                       {"ended", of.ended ? json(*of.ended) : json()},
                       {"strategy", of.strategy},
                       {"data", of.data},
                       {"trials", of.trials},
                       {"trainings", of.trainings},
                       {"failed", of.failed},
                       {"steps", of.steps},
                       {"seconds", number_json(of.seconds)},
                       {"test", std::move(test)},
                       {"best", std::move(best)}});
  }
  for (const StudyComparison::Difference& difference : comparison.differences) {
    differences.push_back({{"key", difference.key}, {"values", difference.values}});
  }
  return {{"v", 1},
          {"measures", std::move(measures)},
          {"notes", comparison.notes},
          {"trainings", training_counts},
          {"seconds", seconds},
          {"studies", std::move(studies)},
          {"differences", std::move(differences)}};
}

}  // namespace lanista::report
