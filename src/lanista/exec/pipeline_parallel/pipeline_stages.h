#pragma once

#include <optional>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/plan/cost/cost_table.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/exec/pipeline_parallel/stages.h"
#include "lanista/plan/pipeline/schedule.h"
#include "lanista/plan/pipeline/timed_step.h"
#include "lanista/model/autodiff/training_step.h"

// From what room `pipeline` plans to what room `nn` runs.
namespace lanista::runtime {

/// A training step as a planner sees it, and the model's node of each of its operators.
struct PlannedModel {
  pipeline::Model model;
  std::vector<graph::NodeId> nodes;  ///< in dependency order
};

/// An operator for each node of the model that computes something. Its forward and backward pass cost what their nodes
/// of the step do, counted in operations and bytes, at these prices; nothing is measured: whoever has measured puts the
/// times in. Bytes are those of float32 values. `copies` are numbers held for every parameter. `ops` is
/// step::training_ops(...). Errors: those of pipeline::check.
Result<PlannedModel> planned_step(const step::TrainingStep& train, const graph::OpTable& ops, std::int64_t batch,
                                  double copies, const graph::CostPrices& prices = {});

/// As many devices of one speed as can be told apart (pipeline::kMaxDeviceClasses), each a class of its own: so no plan
/// gives a stage two of them, which would sum gradients in another order. A transfer takes `seconds` and its bytes.
pipeline::Devices single_devices(std::int64_t count, double seconds, double memory_bytes = 1e18);

/// The same, each on a machine of its own that has a link to the first one's alone: others hear of each other by that.
pipeline::Devices star_devices(std::int64_t count, const pipeline::Link& link, double memory_bytes = 1e18);

/// A plan with its schedule, and what a step takes by simulation.
struct ChosenPlan {
  pipeline::PipelinePlan plan;
  pipeline::Schedule schedule;
  double seconds = 0;
};
/// The planner's plan for micro-batches of this size, or the same with its stages unfolded where that is faster by
/// simulation: what does not read other stages, and what reads other ones of them, are then stages apart that take
/// turns at their place, so a branch need not wait for the others that its join reads; with split backward passes in
/// turns, or all forward and then all backward ones. Errors: those of pipeline::make_plan.
Result<ChosenPlan> chosen_plan(const pipeline::Problem& problem, std::int64_t micro_batch);

/// A plan with its schedule (without transfers) as threads of one process run it, a place a thread, and when passes
/// would begin and end by simulation. What is given is checked, and proved to end, before anything is made of it.
/// Errors: those of pipeline::check and pipeline::prove; kUnimplemented where several devices share the micro-batches
/// of a stage.
Result<nn::Stages> executable_stages(const pipeline::PipelinePlan& plan, const pipeline::Schedule& schedule,
                             const pipeline::Problem& problem, const std::vector<graph::NodeId>& nodes);

/// A step as it was beside what was expected of it, which is all that is told of it elsewhere. None where nothing was
/// expected, or a record has no room for it (pipeline::fits_record).
std::optional<pipeline::TimedStep> timed_step_of(const nn::StepTimes& times);

}  // namespace lanista::runtime
