#include "lanista/search/study/zoo_start.h"

#include <algorithm>
#include <cmath>

#include "lanista/search/study/record_table.h"
#include "lanista/search/study/start_race.h"
#include "lanista/search/study/study_view.h"

namespace lanista::study {
namespace {

using fields::FieldTable;
using nlohmann::json;

/// Share of the quality: a best value is partly luck, so a value this close counts as equal.
constexpr double kNearly = 0.02;

/// A metric of the zoo as a metric of measurements; times `sign`, larger is better.
struct Signed {
  std::string name;
  double sign = 1;
  explicit Signed(const std::string& metric)
      : name("val_" + (metric.starts_with("-") ? metric.substr(1) : metric)), sign(metric.starts_with("-") ? -1 : 1) {}
};

void finite(FieldTable& t, const char* name, double& value) {
  if (!std::isfinite(t(name, value).reads() ? value : 0)) {
    throw fields::Malformed{std::string("'") + name + "' is no finite number"};
  }
}

void table(FieldTable& t, ZooSnapshot& zoo) {
  t.at_least(0, "change", zoo.change).at_least(0, "models", zoo.models);
  t.optional("related", zoo.related).optional("trouble", zoo.trouble);
}

void table(FieldTable& t, ZooModel& model) {
  t("id", model.id)("graph", model.graph)("metric", model.metric);
  finite(t, "quality", model.quality);
  finite(t, "target", model.reference.target);
  t.at_least(0, "steps", model.reference.steps).check(!model.id.empty(), "a model of the zoo without an id");
  t.optional("related", model.related);
}

std::string trials_text(std::int64_t trials) { return std::to_string(trials) + (trials == 1 ? " trial" : " trials"); }

}  // namespace

json zoo_snapshot_json(const ZooSnapshot& zoo) { return fields::write_table(zoo, table); }
ZooSnapshot read_zoo_snapshot(const json& in) { return fields::read_part<ZooSnapshot>(in, table); }
json zoo_model_json(const ZooModel& model) { return fields::write_table(model, table); }
ZooModel read_zoo_model(const json& in) { return fields::read_part<ZooModel>(in, table); }

std::optional<std::int64_t> steps_to(const TrialView& trial, const std::string& metric, double target) {
  const Signed wanted(metric);
  for (const Measurement& each : trial.measurements) {
    const auto value = each.metrics.find(wanted.name);
    if (value != each.metrics.end() && wanted.sign * value->second >= target) return each.step;
  }
  return std::nullopt;
}

Reference reference_of(const StudyView& view, const TrialView& trial, const std::string& metric, double quality) {
  const Start* start = winning_start(trial);
  if (start == nullptr) {
    const double target = quality - kNearly * std::abs(quality);
    return {target, steps_to(trial, metric, target).value_or(0)};
  }
  if (!start->zoo.empty()) {
    const auto model = view.zoo_models.find(start->zoo);
    const bool is_known = model != view.zoo_models.end() && model->second.metric == metric && !model->second.related;
    return is_known ? model->second.reference : Reference();
  }
  if (start->is_file() || start->parent.value > view.trials.size()) return {};
  const TrialView& parent = view.trials[start->parent.value - 1];
  // The child has the selected weights of the parent, so the parent's selected value is its quality.
  const Signed wanted(metric);
  if (parent.measurements.empty()) return {};
  const auto& metrics = result_of(view.config, parent).metrics;
  const auto value = metrics.find(wanted.name);
  if (value == metrics.end() || !std::isfinite(value->second)) return {};
  return reference_of(view, parent, metric, wanted.sign * value->second);
}

std::optional<StartOutcome> start_outcome(const StudyView& view, const TrialView& trial) {
  const Start* start = winning_start(trial);
  if (start == nullptr || start->zoo.empty() || !trial.outcome || trial.measurements.empty()) return std::nullopt;
  const auto model = view.zoo_models.find(start->zoo);
  if (model == view.zoo_models.end() || model->second.reference.steps < 1) return std::nullopt;
  const Reference& known = model->second.reference;
  const std::int64_t raced = discarded_steps(trial.measurements.front().race);
  if (const auto steps = steps_to(trial, model->second.metric, known.target)) {
    return StartOutcome{*steps + raced, known.steps, true};
  }
  if (trial.outcome->kind != OutcomeKind::kSucceeded) return std::nullopt;
  return StartOutcome{std::max(trial.measurements.back().step + raced, known.steps), known.steps, false};
}

ZooSavings zoo_savings(const StudyView& view) {
  ZooSavings out;
  for (const TrialView& trial : view.trials) {
    const Start* start = winning_start(trial);
    if (start == nullptr || start->zoo.empty()) continue;
    ++out.started;
    const auto outcome = start_outcome(view, trial);
    if (!outcome) continue;
    const auto model = view.zoo_models.find(start->zoo);
    out.related = out.related || model->second.related;
    ++out.compared;
    out.reached += outcome->reached;
    out.steps += outcome->steps;
    out.reference += outcome->reference;
  }
  return out;
}

std::string zoo_note(const ZooSnapshot& zoo, const std::string& folder) {
  if (!zoo.trouble.empty()) return "trials begin without the zoo: " + zoo.trouble;
  if (zoo.models == 0) {
    return "the zoo " + folder +
           " has no model of this task: trials begin without it, and those that are kept go into it";
  }
  return "trials may begin with " + std::to_string(zoo.models) + " models of the zoo in " + folder +
         (zoo.related ? ", trained on other data of the same form" : "");
}

std::string zoo_text(const StudyView& view) {
  if (!view.zoo) return {};
  if (!view.zoo->trouble.empty())
    return "nothing was taken of the zoo, so trials began without it: " + view.zoo->trouble;
  if (view.zoo->models == 0) return "the zoo had no model of this task when the study began";
  const ZooSavings saved = zoo_savings(view);
  std::string out = trials_text(saved.started) + " began with models of the zoo";
  if (saved.started == 0) return out;
  if (saved.compared == 0)
    return out + "; how long these took from random values is not known, so neither is what was saved";
  const auto percent = static_cast<std::int64_t>(std::llround(100 * saved.saving()));
  out += "; " + std::to_string(saved.reached) + " of " + std::to_string(saved.compared) +
         " came within 2 % of their models' quality, in " + std::to_string(saved.steps) + " steps";
  if (saved.reached < saved.compared) out += " (the others count as no saving)";
  out += ", where from random values these took " + std::to_string(saved.reference);
  if (saved.related) out += " on their own data";
  if (percent < 0) return out + ": " + std::to_string(-percent) + " % more steps than that";
  return out + ": " + std::to_string(percent) + " % of the steps saved";
}

}  // namespace lanista::study
