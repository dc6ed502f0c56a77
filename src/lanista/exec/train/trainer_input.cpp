#include "lanista/exec/train/trainer_input.h"

#include <span>

#include "lanista/model/autodiff/loss.h"
#include "lanista/search/study/program_key.h"

namespace lanista::train {
namespace {

std::span<const study::Metric> own_metrics(const TrainerInput& input) {
  if (input.own_metrics == nullptr) return {};
  return *input.own_metrics;
}

}  // namespace

Evaluation evaluation_of(const TrainerInput& input) {
  const data::DataSpec& spec = input.data->spec();
  return Evaluation(input.recipe.loss, input.metrics, spec.width(), own_metrics(input), target_scaling_of(spec));
}

program::ProgramOptions program_options_of(const TrainerInput& input) {
  program::ProgramOptions options = program_options_of(input.recipe);
  options.backend = input.backend;
  options.model = &input.model;
  options.budget = input.budget;
  options.operators = input.operators;
  options.step_ops = input.step_ops;
  return options;
}

Result<void> check_predictions(const program::Program& program, const data::DataSpec& spec) {
  const std::int64_t wanted = spec.outputs();
  if (program.prediction_size() == wanted) return {};
  return Error{Code::kInvalidArgument,
               "the model gives " + std::to_string(program.prediction_size()) + " numbers a sample, data '" +
                   spec.name + "' needs " + std::to_string(wanted),
               ""};
}

Digest lane_group_key(const graph::Graph& model, const study::Recipe& recipe, const graph::OpTable& ops,
                      const program::Backend& backend) {
  return Hasher().digest(study::program_key(study::structure_key(model, ops), recipe)).text(backend.name()).finish();
}

Result<void> check_metrics(const TrainerInput& input) {
  const auto& spec = input.data->spec();
  const autodiff::Loss* loss = autodiff::find_loss(input.recipe.loss);
  const study::Targets targets = spec.targets();
  if (loss == nullptr || loss->kind != targets.kind) {
    return Error{Code::kInvalidArgument,
                 "loss '" + input.recipe.loss + "' does not fit data '" + spec.name + "' with " +
                     std::string(autodiff::target_kind_name(targets.kind)) + " as targets",
                 "train.loss"};
  }
  for (const auto& name : input.metrics) LANISTA_TRY(study::check_metric(name, targets, own_metrics(input)));
  return {};
}

}  // namespace lanista::train
