#include "lanista/search/study/config.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "lanista/base/edit_distance.h"
#include "lanista/model/autodiff/optimizer.h"

namespace lanista::study {
namespace {

using space::Value;

std::string type_name(const Value& value) {
  constexpr std::array<const char*, 4> kNames{"a truth value", "a whole number", "a number", "a text"};
  return kNames[value.index()];
}

Error wrong(const std::string& name, const Value& value, const std::string& wanted) {
  return Error{Code::kInvalidArgument,
               name + " is " + space::value_text(value) + " (" + type_name(value) + "); it must be " + wanted, name};
}

Result<double> real(const std::string& name, const Value& value) {
  double number = 0;
  if (const auto* d = std::get_if<double>(&value)) {
    number = *d;
  } else if (const auto* i = std::get_if<std::int64_t>(&value)) {
    number = static_cast<double>(*i);
  } else {
    return wrong(name, value, "a number");
  }
  if (!std::isfinite(number) || number < 0) return wrong(name, value, "a finite number, at least 0");
  return number;
}

template <class Fields>
using Setter = std::function<Result<void>(Fields&, const Value&)>;
template <class Fields>
using Setters = std::map<std::string, Setter<Fields>, std::less<>>;

template <class Fields>
Setter<Fields> number(const char* name, double Fields::*field) {
  return [name, field](Fields& fields, const Value& value) -> Result<void> {
    LANISTA_ASSIGN(fields.*field, real(name, value));
    return {};
  };
}

Setter<Recipe> text(const char* name, std::string Recipe::*field, std::vector<std::string> allowed) {
  return [name, field, allowed](Recipe& recipe, const Value& value) -> Result<void> {
    const auto* given = std::get_if<std::string>(&value);
    if (given == nullptr || std::find(allowed.begin(), allowed.end(), *given) == allowed.end()) {
      std::string list;
      for (const std::string& a : allowed) list += (list.empty() ? "" : ", ") + a;
      return wrong(name, value, "one of " + list);
    }
    recipe.*field = *given;
    return {};
  };
}

Result<void> set_nesterov(StepSettings& numbers, const Value& value) {
  const auto* given = std::get_if<bool>(&value);
  if (given == nullptr) return wrong("nesterov", value, "true or false");
  numbers.nesterov = *given;
  return {};
}

/// Sets the batch. A quantised range gives whole numbers as real ones.
Result<void> set_batch(StepSettings& numbers, const Value& value) {
  LANISTA_ASSIGN(const double size, real("batch", value));
  if (!(size >= 1 && size <= static_cast<double>(kMaxBatch)) || size != std::floor(size)) {
    return wrong("batch", value, "a whole number from 1 to " + std::to_string(kMaxBatch));
  }
  numbers.batch = static_cast<std::int64_t>(size);
  return {};
}

const Setters<StepSettings>& step_setting_setters() {
  static const Setters<StepSettings> table{
      {"lr", number("lr", &StepSettings::lr)},
      {"momentum", number("momentum", &StepSettings::momentum)},
      {"nesterov", set_nesterov},
      {"weight_decay", number("weight_decay", &StepSettings::weight_decay)},
      {"beta1", number("beta1", &StepSettings::beta1)},
      {"beta2", number("beta2", &StepSettings::beta2)},
      {"eps", number("eps", &StepSettings::eps)},
      {"clip_norm", number("clip_norm", &StepSettings::clip_norm)},
      {"label_smoothing", number("label_smoothing", &StepSettings::label_smoothing)},
      {"batch", set_batch},
  };
  return table;
}

const Setters<Recipe>& recipe_setters() {
  static const Setters<Recipe> table{
      {"optimizer", text("optimizer", &Recipe::optimizer, autodiff::optimizer_names())},
      {"schedule", text("schedule", &Recipe::schedule, {"constant", "step", "cosine"})},
      {"warmup_epochs", number("warmup_epochs", &Recipe::warmup_epochs)},
  };
  return table;
}

template <class Fields>
const Setter<Fields>* find(const Setters<Fields>& table, const std::string& name) {
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

Error unknown(const std::string& name, const std::string& of, const std::vector<std::string>& known) {
  const std::string near = nearest_name(name, known);
  return {Code::kInvalidArgument, of + " no '" + name + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"),
          name};
}

}  // namespace

const std::vector<std::string>& sample_names() {
  static const std::vector<std::string> names{
      "optimizer", "lr",        "momentum",        "nesterov", "weight_decay",  "beta1", "beta2",
      "eps",       "clip_norm", "label_smoothing", "schedule", "warmup_epochs", "batch"};
  return names;
}

bool can_change_in_training(std::string_view name) {
  return name != "optimizer" && name != "batch" && std::ranges::find(sample_names(), name) != sample_names().end();
}

std::optional<double> default_number(const StudyConfig& config, const std::string& number) {
  std::vector<std::string> optimizers{config.train.optimizer.name};
  for (const space::Parameter& parameter : config.space.params.parameters()) {
    if (parameter.name != "optimizer") continue;
    const std::int64_t count = space::domain_size(parameter.domain).value_or(0);
    for (std::int64_t i = 0; i < count; ++i) {
      const space::Value value = space::domain_value(parameter.domain, i, count);
      if (const auto* name = std::get_if<std::string>(&value)) optimizers.push_back(*name);
    }
  }
  const std::optional<double> usual = autodiff::default_number(optimizers.front(), number);
  const bool agreed = std::ranges::all_of(
      optimizers, [&](const std::string& each) { return autodiff::default_number(each, number) == usual; });
  return agreed ? usual : std::nullopt;
}

std::optional<Goal> tie_breaking_goal(const StudyConfig& config) {
  const std::string loss = "val_loss";
  const bool is_goal = std::ranges::find(config.goals, loss, &Goal::metric) != config.goals.end();
  if (config.train.measured.ties != kTiesByLoss || is_goal) return std::nullopt;
  return Goal{false, loss};
}

Result<Recipe> make_recipe(const StudyConfig& config, const std::string& loss, const space::Sample& sample) {
  const TrainConfig& train = config.train;
  Recipe recipe;
  recipe.loss = loss;
  recipe.optimizer = train.optimizer.name;
  recipe.schedule = train.schedule.name;
  recipe.precision = train.numerics.precision;
  recipe.epochs = train.length.epochs;
  recipe.batch = config.data.batch;
  recipe.augment = config.data.augment;
  recipe.step_every = train.schedule.step_every;
  recipe.step_factor = train.schedule.step_factor;
  recipe.warmup_epochs = train.schedule.warmup_epochs;
  recipe.clip_norm = train.optimizer.clip_norm;
  recipe.label_smoothing = train.loss.label_smoothing;
  recipe.lr = train.optimizer.lr;
  recipe.weight_decay = train.optimizer.weight_decay;
  recipe.nesterov = train.optimizer.nesterov;
  const auto chosen = sample.find("optimizer");
  if (chosen != sample.end()) LANISTA_TRY(recipe_setters().at("optimizer")(recipe, chosen->second));
  const auto usual = [&](const std::optional<double>& given, const char* number) {
    return given ? *given : *autodiff::default_number(recipe.optimizer, number);
  };
  recipe.momentum = usual(train.optimizer.momentum, "momentum");
  recipe.beta1 = usual(train.optimizer.beta1, "beta1");
  recipe.beta2 = usual(train.optimizer.beta2, "beta2");
  recipe.eps = usual(train.optimizer.eps, "eps");
  recipe.shards = train.numerics.shards;
  recipe.accumulate = train.numerics.accumulate;
  recipe.select = train.select;
  recipe.tune = train.tune;
  recipe.steps_per_epoch = train.length.steps_per_epoch.value_or(0);
  recipe.steps = train.length.steps.value_or(0);
  recipe.all_rows_at = train.length.all_rows_at.value_or(1);
  LANISTA_TRY(apply_sample(recipe, sample));
  return recipe;
}

Result<void> apply_sample(Recipe& recipe, const space::Sample& sample) {
  for (const auto& [name, value] : sample) {
    if (space::is_model_choice(name)) continue;
    if (const auto* of_steps = find(step_setting_setters(), name)) {
      LANISTA_TRY((*of_steps)(recipe, value));
    } else if (const auto* of_recipes = find(recipe_setters(), name)) {
      LANISTA_TRY((*of_recipes)(recipe, value));
    } else {
      return unknown(name, "a recipe has", sample_names());
    }
  }
  return {};
}

Result<void> apply_sample(StepSettings& numbers, const space::Sample& sample) {
  for (const auto& [name, value] : sample) {
    const auto* setter = find(step_setting_setters(), name);
    if (setter == nullptr) {
      std::vector<std::string> known;
      for (const auto& each : step_setting_setters()) known.push_back(each.first);
      return unknown(name, "steps read", known);
    }
    LANISTA_TRY((*setter)(numbers, value));
  }
  return {};
}

Result<void> check_rate(double factor) {
  if (std::isfinite(factor) && factor > 0 && factor <= kMaxRateFactor) return {};
  const std::string seen = "is " + space::value_text(factor);
  if (factor == 0) {
    return Error{Code::kInvalidArgument, seen + ", which trains nothing; model.frozen sets what is not trained", ""};
  }
  return Error{Code::kInvalidArgument,
               seen + "; it must be above 0, and at most " + std::to_string(static_cast<std::int64_t>(kMaxRateFactor)),
               ""};
}

std::string summation_text(const TrainConfig& train) {
  if (train.numerics.shards == 1 && train.numerics.accumulate == 1) return "";
  if (train.numerics.shards == 1 || train.numerics.accumulate == 1)
    return std::to_string(std::max(train.numerics.shards, train.numerics.accumulate));
  return std::to_string(train.numerics.shards) + "x" + std::to_string(train.numerics.accumulate);
}

}  // namespace lanista::study
