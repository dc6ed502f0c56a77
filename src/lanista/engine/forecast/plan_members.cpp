#include "lanista/engine/forecast/plan_members.h"

#include <map>
#include <string>
#include <utility>

#include "lanista/base/precision.h"
#include "lanista/engine/core/executor.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/search/study/epoch_schedule.h"
#include "lanista/search/study/program_key.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::engine {
namespace {

using sharing::DataStep;

/// Operations on a sample before a step. Each operation on its features reads and writes them once.
std::vector<DataStep> data_steps(const study::StudyConfig& config, const data::DataSpec& data,
                                 const plan::CostPrices& prices) {
  const std::int64_t bytes = data.features.elements_per_sample() * static_cast<std::int64_t>(sizeof(float));
  const double us = prices.us(0, 2 * static_cast<double>(bytes));
  // Data are stored normalised, so normalisation is not part of a step.
  std::vector<DataStep> steps{{"normalize(" + config.data.normalize + ")", false, 0, bytes},
                              {"gather", false, us, bytes}};
  for (const study::PluginConfig& augment : config.data.augment) {
    std::string options;
    for (const auto& [name, value] : augment.options.items()) {
      options += (options.empty() ? "" : ", ") + name + "=" + value.dump();
    }
    steps.push_back({augment.name + (options.empty() ? "" : "(" + options + ")"), true, us, bytes});
  }
  return steps;
}

}  // namespace

PlanMemberBuilder::PlanMemberBuilder(const study::StudyConfig& config, const data::DataSpec& data,
                                     std::shared_ptr<const mutate::ModelSpace> models, const plan::CostPrices& prices)
    : config_(config), data_(data), models_(std::move(models)), steps_(data_steps(config, data, prices)) {}

Result<PlannedMember> PlanMemberBuilder::make(const study::TrialView& trial) const {
  LANISTA_ASSIGN(graph::Graph model, models_->rebuild(trial.proposal.base, trial.proposal.edits));
  LANISTA_ASSIGN(const graph::ModelCost cost, graph::model_cost(model, models_->ops()));
  LANISTA_ASSIGN(Job job, make_job(config_, data_, trial, std::move(model)));
  const plan::PlannedTrial planned{trial.id,
                                   study::program_key(study::structure_key(job.model, models_->ops()), job.recipe),
                                   study::state_bytes(cost.parameters, job.recipe),
                                   study::best_weights_bytes(cost.parameters, job.recipe, job.keep)};
  LANISTA_ASSIGN(const data::DataSpec data, data::training_spec(data_, job.fold));
  sharing::StepRecipe recipe{
      .step = autodiff::StepOptions{job.recipe.loss, job.recipe.optimizer},
      .batch_size = study::largest_batch(job.recipe),
      .data = {.dataset = data.hash, .order_seed = job.data_seed, .num_samples = data.split_rows[0], .steps = steps_},
      .epochs = study::epoch_schedule_of(job.recipe, data.split_rows[0]).num_passes(job.recipe.epochs),
      .precision = precision_of(job.recipe.precision),
      .keeps_best_epoch = job.keep.selects_best()};
  std::map<graph::NodeId, Digest> frozen;  // hash of weights that are equal in all trials
  for (const graph::NodeId id : models_->frozen()) frozen[id] = {};
  LANISTA_ASSIGN(study::StepShape shape, study::step_shape(job.model, models_->ops(), job.recipe));
  const study::EpochSchedule epochs = study::epoch_schedule_of(job.recipe, data.split_rows[0]);
  LANISTA_ASSIGN(study::ExtraSteps extra, study::extra_steps(job.recipe, epochs));
  return PlannedMember{sharing::FusionMember{trial.id, std::move(job.model), std::move(frozen), std::move(recipe), ""},
                       planned,
                       std::move(shape),
                       epochs,
                       job.recipe.epochs,
                       data.split_rows[1],
                       std::move(extra)};
}

}  // namespace lanista::engine
