#include "lanista/app/report/compare.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <type_traits>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/app/report/facts.h"
#include "lanista/search/study/metric.h"
#include "lanista/search/study/searches.h"

namespace lanista::report {
namespace {

using nlohmann::json;
using study::StudyView;
using study::TrialView;
using Measure = Comparison::Measure;
using Step = Comparison::Step;

constexpr std::size_t kMostSteps = 500;

/// Trials that trained and are done, in the order in which they ended; without times, in their own.
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

/// What a trial that has ended adds to what is known: its result; with folds, which only tell something together, the
/// average of its proposal's trainings once the last of them has ended.
struct Addition {
  study::Measurement result;
  study::Standing standing;
};

std::optional<Addition> addition_of(const StudyView& view, const TrialView& trial, const std::set<TrialId>& seen) {
  if (!view.config.data.folds) {
    if (!study::ranks(trial, *trial.outcome)) return std::nullopt;
    return Addition{study::result_of(view.config, trial), study::standing(view.config, trial)};
  }
  const auto together = study::trainings_of(view, trial);
  const bool last = std::ranges::all_of(together, [&](const TrialView* each) {
    return seen.contains(each->id) || each->measurements.empty();
  });
  const auto standing = last ? study::joint_standing(view.config, together) : std::nullopt;
  const auto results = study::joint_results(view.config, together);
  if (!standing || results.empty()) return std::nullopt;
  std::vector<const study::Measurement*> averaged;
  for (const study::Measurement& result : results) averaged.push_back(&result);
  return Addition{study::average(view.config, averaged), *standing};
}

std::vector<Step> records_of(const StudyView& view, const Measure& measure) {
  std::vector<Step> out;
  std::int64_t count = 0;
  std::set<TrialId> seen;
  std::pair<double, double> best;  // how far constraints are broken, then the loss
  for (const auto& [ended, trial] : trainings(view)) {
    ++count;
    seen.insert(trial->id);
    const auto added = addition_of(view, *trial, seen);
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

/// Whether more is better, as far as the studies' goals or the metric itself say; nullopt: nobody says, or not the
/// same.
std::optional<bool> direction(const std::vector<Compared>& studies, const std::string& metric) {
  std::optional<bool> out;
  for (const Compared& of : studies) {
    for (const study::Goal& goal : of.view->config.goals) {
      if (goal.metric != metric) continue;
      if (out && *out != goal.maximize) return std::nullopt;
      out = goal.maximize;
    }
  }
  return out ? out : study::more_is_better(metric);
}

/// The metrics that all have measured, those that are somebody's goal first.
std::vector<Measure> shared_measures(const std::vector<Compared>& studies) {
  std::set<std::string> shared = measured_metrics(*studies.front().view);
  for (const Compared& of : studies) {
    const std::set<std::string> own = measured_metrics(*of.view);
    std::erase_if(shared, [&](const std::string& name) { return !own.contains(name); });
  }
  std::vector<std::string> order;
  for (const Compared& of : studies) {
    for (const study::Goal& goal : of.view->config.goals) {
      if (shared.erase(goal.metric) > 0) order.push_back(goal.metric);
    }
  }
  order.insert(order.end(), shared.begin(), shared.end());
  std::vector<Measure> out;
  for (const std::string& metric : order) {
    if (const auto more = direction(studies, metric)) out.push_back({metric, *more});
  }
  return out;
}

void choose_measures(const std::vector<Compared>& studies, Comparison& out) {
  const auto same = [&](const Compared& of) {
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
  for (const Compared& of : studies) goals += (goals.empty() ? "" : "; ") + of.name + ": " + goals_text(*of.view);
  out.measures = shared_measures(studies);
  out.notes.push_back("The studies have different goals (" + goals + "). " +
                      (out.measures.empty() ? "They share no metric whose better direction is known."
                                            : "They are compared by the metrics that all of them measured."));
}

std::string text_member(const json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// What makes equal metrics mean different things.
void note_differences(const std::vector<Compared>& studies, Comparison& out) {
  const StudyView& first = *studies.front().view;
  const auto differ = [&](const auto& of) {
    return std::any_of(studies.begin(), studies.end(), [&](const Compared& s) { return of(*s.view) != of(first); });
  };
  if (differ([](const StudyView& v) { return text_member(v.data, "hash"); })) {
    out.notes.emplace_back("The studies are on different data: their values are not of the same rows.");
  } else if (differ([](const StudyView& v) { return v.config.data.split; })) {
    out.notes.emplace_back("The studies split the same data differently: their validation rows are not the same.");
  }
  if (differ([](const StudyView& v) { return v.config.train.loss; })) {
    out.notes.emplace_back("The studies train by different losses: loss and val_loss are not of one scale.");
  }
  if (std::any_of(studies.begin(), studies.end(), [](const Compared& s) { return !s.view->end_reason; })) {
    out.notes.emplace_back("Not every study has ended: numbers are as of now.");
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

Comparison::Study study_of(const Compared& of, const std::vector<Measure>& measures) {
  const StudyView& view = *of.view;
  Comparison::Study out;
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
  for (const Measure& measure : measures) out.best.push_back(records_of(view, measure));
  return out;
}

json value_json_or_null(const std::optional<double>& value) { return value ? number_json(*value) : json(); }

json curve_json(const std::vector<Step>& best) {
  json trial = json::array(), after = json::array(), seconds = json::array(), value = json::array();
  // The last ones matter most, and the first says where it began.
  for (std::size_t k = 0; k < best.size(); ++k) {
    if (k > 0 && best.size() - k >= kMostSteps) continue;
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
std::vector<Mark> parts_of(Mark least) {
  std::vector<Mark> out;
  for (const int part : {4, 2, 1}) {
    const Mark mark = std::is_integral_v<Mark> ? (least + part - 1) / part : least / part;
    if (mark > 0 && (out.empty() || mark > out.back())) out.push_back(mark);
  }
  return out;
}

}  // namespace

std::vector<Comparison::Difference> differing_settings(const std::vector<std::string>& resolved) {
  std::vector<std::string> keys;
  std::vector<std::map<std::string, std::string>> settings;
  for (const std::string& text : resolved) {
    auto& own = settings.emplace_back();
    for (auto& [key, value] : settings_of(text)) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
      own[key] = std::move(value);
    }
  }
  std::vector<Comparison::Difference> out;
  for (const std::string& key : keys) {
    Comparison::Difference difference{key, {}};
    for (auto& own : settings) difference.values.push_back(own[key]);
    const auto& values = difference.values;
    if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) != values.end()) {
      out.push_back(std::move(difference));
    }
  }
  return out;
}

Comparison compare(const std::vector<Compared>& studies) {
  LANISTA_CHECK(studies.size() >= 2, "a comparison needs two studies");
  Comparison out;
  choose_measures(studies, out);
  note_differences(studies, out);
  for (const Compared& of : studies) out.studies.push_back(study_of(of, out.measures));
  std::vector<std::string> resolved;
  for (const Compared& of : studies) resolved.push_back(of.settings);
  out.differences = differing_settings(resolved);
  return out;
}

std::optional<double> best_after(const std::vector<Step>& best, std::int64_t trainings) {
  std::optional<double> out;
  for (const Step& step : best) {
    if (step.trainings <= trainings) out = step.value;
  }
  return out;
}

std::optional<double> best_after_seconds(const std::vector<Step>& best, double seconds) {
  std::optional<double> out;
  for (const Step& step : best) {
    if (step.seconds <= seconds) out = step.value;
  }
  return out;
}

std::vector<std::int64_t> training_marks(const Comparison& comparison) {
  std::int64_t least = comparison.studies.front().trainings;
  for (const Comparison::Study& of : comparison.studies) least = std::min(least, of.trainings);
  return parts_of(least);
}

std::vector<double> second_marks(const Comparison& comparison) {
  double least = comparison.studies.front().seconds;
  for (const Comparison::Study& of : comparison.studies) least = std::min(least, of.seconds);
  return parts_of(std::isfinite(least) ? least : 0.0);
}

json compare_json(const Comparison& comparison) {
  json measures = json::array(), studies = json::array(), differences = json::array();
  for (const Measure& measure : comparison.measures) {
    measures.push_back({{"metric", measure.metric}, {"maximize", measure.maximize}});
  }
  const auto training_counts = training_marks(comparison);
  const auto seconds = second_marks(comparison);
  for (const Comparison::Study& of : comparison.studies) {
    json best = json::array(), test = json::object();
    for (const auto& records : of.best) {
      json after = json::array(), after_seconds = json::array();
      for (const auto mark : training_counts) after.push_back(value_json_or_null(best_after(records, mark)));
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
  for (const Comparison::Difference& difference : comparison.differences) {
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
