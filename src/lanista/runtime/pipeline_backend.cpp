#include "lanista/runtime/pipeline_backend.h"

#include <algorithm>
#include <optional>
#include <string>
#include <thread>

#include "lanista/nn/machine.h"
#include "lanista/pipeline/simulate.h"
#include "lanista/runtime/pipeline_stages.h"
#include "lanista/step/optimizer.h"

namespace lanista::runtime {
namespace {

// From the end of a pass to the beginning of another thread's, in seconds, and what a plan must promise: where nobody
// asked for threads. Who does gets them.
constexpr double kHandOver = 20e-6, kLeastGain = 1.2;
constexpr double kHandOverAsked = 1e-7;

Result<void> check_parts(const nn::ProgramOptions& options) {
  const std::int64_t parts = options.shards * options.accumulate;
  if (std::min(options.shards, options.accumulate) > 1) {
    return Error{Code::kInvalidArgument,
                 "shards of several parts (train.shards " + std::to_string(options.shards) + ", train.accumulate " +
                     std::to_string(options.accumulate) + ") have no pipeline; one of the two is 1",
                 "run.pipeline"};
  }
  if (options.max_batch % parts == 0) return {};
  return Error{Code::kInvalidArgument,
               "a batch of " + std::to_string(options.max_batch) + " does not come in " + std::to_string(parts) +
                   " equal micro-batches (train.shards, train.accumulate); allowed are numbers that divide it",
               "run.pipeline"};
}

// None where the plan promises too little.
Result<std::optional<nn::Stages>> plan_stages(const step::TrainingStep& train, const nn::ProgramOptions& options,
                                              std::int64_t places, bool is_asked) {
  const graph::OpTable own = options.step_ops != nullptr    ? graph::OpTable()
                             : options.operators != nullptr ? step::training_ops(options.operators->table())
                                                            : step::training_ops(graph::builtin_ops());
  const graph::OpTable& ops = options.step_ops != nullptr ? *options.step_ops : own;
  const auto slots = static_cast<double>(step::find_optimizer(train.options.optimizer)->slots.size());
  LANISTA_ASSIGN(const PlannedModel planned, planned_step(train, ops, options.max_batch, 3 + slots));
  const std::int64_t micro = options.max_batch / (options.shards * options.accumulate);
  const pipeline::Problem problem{planned.model, single_devices(places, is_asked ? kHandOverAsked : kHandOver)};
  LANISTA_ASSIGN(const ChosenPlan best, chosen_plan(problem, micro));
  if (best.plan.stages.size() == 1) return std::optional<nn::Stages>();
  LANISTA_ASSIGN(const auto course, pipeline::simulate(best.schedule, best.plan, problem, false));
  double alone = 0;
  for (const double seconds : course.busy_seconds) alone += seconds;
  if (!is_asked && alone < kLeastGain * course.seconds) return std::optional<nn::Stages>();
  LANISTA_ASSIGN(nn::Stages stages, stages_of(best.plan, best.schedule, problem, planned.nodes));
  return std::optional<nn::Stages>(std::move(stages));
}

}  // namespace

Result<std::unique_ptr<nn::Machine>> PipelineBackend::compile(const step::TrainingStep* train,
                                                              const step::InferenceStep& infer,
                                                              const nn::ProgramOptions& options) const {
  const bool can = train != nullptr && options.threads == 1 && train->renewed.empty() && !train->gradient.empty();
  if (!can || places_ == 1) return inner_.compile(train, infer, options);
  LANISTA_TRY(check_parts(options));
  const auto cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  const std::int64_t places = std::min<std::int64_t>(places_ > 0 ? places_ : cores, pipeline::kMostClasses);
  if (places == 1) return inner_.compile(train, infer, options);
  LANISTA_ASSIGN(const auto stages, plan_stages(*train, options, places, places_ > 0));
  nn::ProgramOptions own = options;
  if (stages) own.stages = &*stages;
  return inner_.compile(train, infer, own);
}

}  // namespace lanista::runtime
