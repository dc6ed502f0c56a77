#include "lanista/exec/train/trial_definition.h"

#include <utility>

namespace lanista::train {
namespace {

// Returns the rules of the tune searches; none if the trial has no search.
Result<std::optional<study::TuneRules>> tune_rules_of(const study::Recipe& recipe) {
  const std::string& name = recipe.tune.name;
  if (name.empty()) return std::optional<study::TuneRules>();
  if (!recipe.select.name.empty()) {
    return Error{Code::kInvalidArgument, "a trial that selects its examples cannot tune itself", "train.tune"};
  }
  if (name == study::kAdaptive || name == study::kReplaySchedule) return std::optional<study::TuneRules>();
  auto rules = study::tune_rules(recipe);
  if (!rules) return Error{rules.error().code, rules.error().message, "train.tune"};
  return std::optional(*std::move(rules));
}

}  // namespace

Result<TrialDefinition> make_trial_definition(TrainerInput input) {
  const study::Recipe& recipe = input.recipe;
  LANISTA_ASSIGN(auto augmenter, data::Augmenter::make(recipe.augment, input.data->spec()));
  LANISTA_ASSIGN(auto tune_rules, tune_rules_of(recipe));
  const std::int64_t rows = std::ssize(input.data->rows(data::Part::kTrain));
  const Digest key = lane_group_key(input.model, recipe, *input.step_ops, *input.backend);
  std::string augment_text = data::augment_text(recipe.augment);
  const study::EpochSchedule epochs = study::epoch_schedule_of(recipe, rows);
  input.start = nullptr;
  return TrialDefinition{.input = std::move(input),
                         .augmenter = std::move(augmenter),
                         .key = key,
                         .augment_text = std::move(augment_text),
                         .epochs = epochs,
                         .tune_rules = std::move(tune_rules)};
}

}  // namespace lanista::train
