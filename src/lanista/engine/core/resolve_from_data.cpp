#include "lanista/engine/core/resolve_from_data.h"

#include <algorithm>

#include "lanista/base/check.h"
#include "lanista/base/edit_distance.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/io/data/augment.h"
#include "lanista/io/data/selector.h"
#include "lanista/io/data/undefined_metrics.h"
#include "lanista/model/autodiff/loss.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/epoch_schedule.h"

namespace lanista::engine {
namespace {

Result<void> resolve_bases(std::vector<std::string>& bases, const data::DataSpec& data) {
  std::vector<std::string> out;
  for (const auto& base : bases) {
    if (base != "builtin:auto") {
      out.push_back(base);
      continue;
    }
    for (const auto& name : mutate::builtin_base_names()) {
      const bool suits = mutate::builtin_base(name, data.features, data.width(), data.vocab, data.positions).ok();
      if (suits) out.push_back("builtin:" + name);
    }
  }
  if (out.empty()) {
    return Error{Code::kInvalidArgument, "no built-in base accepts samples of shape " + data.features.text(),
                 "model.base"};
  }
  bases = std::move(out);
  return {};
}

/// Sets the form of targets to that of the data, so that later builds do not choose another one.
Result<void> resolve_targets(std::string& targets, const data::DataSpec& data) {
  if (data.targets().kind == autodiff::TargetKind::kNumbers) {
    if (targets == "auto") targets = data.target_normalization ? "standardize" : "raw";
    return {};
  }
  if (targets == "auto") return {};
  return Error{Code::kInvalidArgument,
               "'" + targets + "' is for targets that are numbers; those of '" + data.name + "' are " +
                   (data.vocab > 0 ? "tokens" : std::string(autodiff::target_kind_name(data.targets().kind))) +
                   "; allowed: auto",
               "data.targets"};
}

/// The metric that the stopping rule compares, if it names one.
std::string rung_metric(const study::StudyConfig& config) { return config.stop.options.value("on", ""); }

// Metrics that a study decides by are measured, even if they are not in its list.
void add_named_metrics(study::StudyConfig& config, const study::Targets& targets, std::span<const study::Metric> own) {
  std::vector<std::string> named;
  for (const auto& goal : config.goals) named.push_back(goal.metric);
  for (const auto& constraint : config.subject_to) {
    named.insert(named.end(), constraint.names().begin(), constraint.names().end());
  }
  named.push_back(rung_metric(config));
  std::vector<std::string>& metrics = config.train.measured.metrics;
  for (const std::string& name : named) {
    const std::string metric(study::validation_metric(name));
    if (!study::check_metric(metric, targets, own) || std::ranges::find(metrics, metric) != metrics.end()) continue;
    metrics.push_back(metric);
  }
}

Result<void> check_measured(const std::string& name, const std::vector<std::string>& measured,
                            const study::Targets& targets, const std::string& key) {
  if (std::ranges::find(measured, name) != measured.end()) return {};
  std::string list;
  for (const auto& each : measured) list += (list.empty() ? "" : ", ") + each;
  std::string message = "'" + name + "' is not measured; measured: " + list;

  // It may be a metric for other targets, or a typing error.
  const std::string metric(study::validation_metric(name));
  if (const auto fits = study::check_metric(metric, targets); !fits && study::find_metric(metric)) {
    message += "; " + fits.error().message;
  }
  std::vector<std::string> possible = measured;
  for (const auto& each : study::applicable_metrics(targets)) possible.push_back("val_" + each);
  const std::string near = nearest_name(name, possible);
  if (!near.empty()) message += "; did you mean '" + near + "'?";
  return Error{Code::kInvalidArgument, message, key};
}

// Strategies and rules count epochs, so all trials of a study have equal numbers of them.
Result<void> resolve_epochs(study::StudyConfig& config, const data::DataSpec& data) {
  study::TrainConfig& train = config.train;
  if (train.length.steps && !train.length.steps_per_epoch) {
    const auto& params = config.space.params.parameters();
    if (std::ranges::find(params, "batch", &space::Parameter::name) != params.end()) {
      return Error{Code::kInvalidArgument,
                   "trials sample their batch size, so passes over the rows have different numbers of steps; set the "
                   "steps of an "
                   "epoch with train.steps_per_epoch",
                   "train.steps"};
    }
    train.length.steps_per_epoch = std::max<std::int64_t>(1, epoch_schedule_of(config, data, {}).length);
  }
  LANISTA_TRY(study::resolve_epochs(train));
  if (train.length.all_rows_at) train.length.all_rows_at = std::min(*train.length.all_rows_at, train.length.epochs);
  return {};
}

/// Checks that the budget trains all folds of a proposal; otherwise it is not ranked.
Result<void> check_trainings(const study::StudyConfig& config) {
  const std::int64_t each = study::trainings_per_proposal(config);
  if (!config.data.folds || !config.budget.trials || *config.budget.trials >= each) return {};
  return Error{Code::kInvalidArgument,
               "is " + std::to_string(*config.budget.trials) + "; a proposal has " + std::to_string(each) +
                   " trainings, each a trial (data.folds, strategy.repeat), so at least " + std::to_string(each) +
                   " are needed to rank one",
               "budget.trials"};
}

/// The space without label smoothing, which has no effect on numeric targets. It stays if other parameters depend on
/// it.
space::SearchSpace without_smoothing(const space::SearchSpace& space) {
  const std::string name = "label_smoothing";
  const auto depends_on = [&](const space::Parameter& parameter) {
    return std::ranges::find(parameter.when, name, &space::Parameter::Condition::parameter) != parameter.when.end();
  };
  if (std::ranges::any_of(space.parameters(), depends_on)) return space;
  space::SearchSpace out;
  for (const space::Parameter& parameter : space.parameters()) {
    if (parameter.name == name) continue;
    const auto added = out.add(parameter);
    LANISTA_CHECK(added.ok(), "a part of a valid space is valid");
  }
  return out;
}

/// How the data could have the kind of targets that a loss needs.
std::string task_hint(const autodiff::Loss* loss) {
  if (loss == nullptr) return "";
  const std::string task = loss->kind == autodiff::TargetKind::kMultilabel
                               ? "multilabel"
                               : std::string(autodiff::target_kind_name(loss->kind));
  return "; targets of a table are " + std::string(autodiff::target_kind_name(loss->kind)) +
         " with data option task=" + task;
}

}  // namespace

Result<void> resolve_from_data(study::StudyConfig& config, const data::DataSpec& data,
                               std::span<const study::Metric> own_metrics) {
  if (config.model.space.is_null()) LANISTA_TRY(resolve_bases(config.model.base, data));
  if (auto augmenter = data::Augmenter::make(config.data.augment, data); !augmenter) return augmenter.error();
  LANISTA_TRY(resolve_targets(config.data.targets, data));
  if (config.model.frozen && data.positions > 0) {
    return Error{
        Code::kInvalidArgument,
        "with task=next_token models are checked for access to their targets, and this check does not support a "
        "model in two parts; leave out model.frozen, or train on task=last_token",
        "model.frozen"};
  }
  LANISTA_TRY(resolve_epochs(config, data));
  const study::Targets targets = data.targets();
  const bool classes = targets.kind == autodiff::TargetKind::kClasses;
  if (!classes) config.space.params = without_smoothing(config.space.params);
  const autodiff::Loss* loss = autodiff::find_loss(config.train.loss.name);
  if (config.train.loss.name != "auto" && (loss == nullptr || loss->kind != targets.kind)) {
    std::string fitting;
    for (const autodiff::Loss& each : autodiff::losses()) fitting += each.kind == targets.kind ? ", " + each.name : "";
    return Error{Code::kInvalidArgument,
                 "'" + config.train.loss.name + "' does not fit targets that are " +
                     std::string(autodiff::target_kind_name(targets.kind)) + "; allowed: auto" + fitting +
                     task_hint(loss),
                 "train.loss"};
  }
  if (config.train.measured.metrics.empty()) {
    config.train.measured.metrics = study::default_metrics(targets);
    if (data.positions > 0) config.train.measured.metrics.emplace_back("perplexity");
  }
  for (const auto& metric : config.train.measured.metrics) {
    LANISTA_TRY(study::check_metric(metric, targets, own_metrics));
  }
  if (config.goals.empty()) {
    config.goals.push_back(classes ? study::Goal{true, "val_accuracy"} : study::Goal{false, "val_loss"});
  }
  add_named_metrics(config, targets, own_metrics);

  std::vector<std::string> measured{"train_loss", "val_loss"};
  for (const auto& metric : config.train.measured.metrics) measured.push_back("val_" + metric);
  std::vector<std::string> known = measured;
  known.insert(known.end(), {"params", "flops"});
  for (const auto& goal : config.goals) LANISTA_TRY(check_measured(goal.metric, known, targets, "goal"));
  if (config.keep.ensemble > 0 && !config.goals.front().metric.starts_with("val_")) {
    return Error{Code::kInvalidArgument,
                 "an ensemble is chosen by the first goal, and '" + config.goals.front().metric +
                     "' is not measured on the validation part",
                 "keep.ensemble"};
  }
  for (const auto& parameter : config.space.params.parameters()) known.push_back(parameter.name);
  for (const auto& constraint : config.subject_to) {
    for (const auto& name : constraint.names()) LANISTA_TRY(check_measured(name, known, targets, "subject_to"));
  }
  LANISTA_TRY(check_trainings(config));
  if (const std::string on = rung_metric(config); !on.empty()) {
    LANISTA_TRY(check_measured(on, measured, targets, "stop.on"));
    if (!study::more_is_better(on) && std::ranges::find(config.goals, on, &study::Goal::metric) == config.goals.end()) {
      return Error{Code::kInvalidArgument,
                   "'" + on + "' is not a goal, so its direction is unknown; allowed: a metric of a goal", "stop.on"};
    }
  }
  return {};
}

Result<std::vector<std::string>> check_metrics_defined(const study::StudyConfig& config, const data::Dataset& data,
                                                       std::span<const study::Metric> own_metrics) {
  std::vector<std::string> warnings;
  for (const auto& each : data::undefined_metrics(data, config.train.measured.metrics, own_metrics)) {
    const bool is_validation = each.part == data::Part::kValidation;
    const std::string name = (is_validation ? "val_" : "test_") + each.metric;
    const bool is_goal = std::ranges::find(config.goals, name, &study::Goal::metric) != config.goals.end();
    if (is_validation && (is_goal || rung_metric(config) == name)) {
      return Error{Code::kInvalidArgument,
                   "'" + name + "' is undefined for every trial: " + each.reason +
                       "; add rows of it, give that part a larger share with data.split, or compare by another metric, "
                       "such as val_log_loss",
                   is_goal ? "goal" : "stop.on"};
    }
    warnings.push_back(name + " is undefined for every trial: " + each.reason);
  }
  return warnings;
}

}  // namespace lanista::engine
