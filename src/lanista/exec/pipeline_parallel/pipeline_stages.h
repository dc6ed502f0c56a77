#pragma once

#include <optional>
#include <set>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/pipeline_parallel/stages.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/cost/costs.h"
#include "lanista/plan/pipeline/schedule.h"
#include "lanista/plan/pipeline/timed_step.h"

// Conversions from plans of plan/pipeline to the stages that programs run.
namespace lanista::runtime {

/// Returns these nodes of a step, and all nodes on which they depend.
std::set<graph::NodeId> upstream(const autodiff::TrainingStep& train, std::vector<graph::NodeId> from);

/// A training step as the planner sees it, and the model node of each of its operators.
struct PlannedModel {
  pipeline::Model model;             ///< The model with costs, for the planner.
  std::vector<graph::NodeId> nodes;  ///< Model node of each operator of `model`, in dependency order.
};

/// Returns the planner's model of a training step, with one operator for each model node that computes something.
///
/// The times of an operator's forward and backward passes, in seconds for 1, 2, 4, ... samples up to `batch` or more,
/// are predicted from the operations and bytes of its step nodes at `prices`. A caller with measured times overwrites
/// them. Bytes are those of float32 values. `copies` is the number of values that are stored for each parameter, such
/// as weights, gradients and slots; `ops` is autodiff::training_ops. Errors: those of pipeline::check.
Result<PlannedModel> planned_step(const autodiff::TrainingStep& train, const graph::OpTable& ops, std::int64_t batch,
                                  double copies, const plan::CostPrices& prices = {});

/// Returns min(count, pipeline::kMaxDeviceClasses) devices of equal speed, each in a class of its own.
///
/// So no plan gives two devices to one stage, which would change the order of gradient sums. A transfer needs `seconds`
/// plus its bytes at 1e10 bytes a second. `memory_bytes` is the memory of each device.
pipeline::Devices single_devices(std::int64_t count, double seconds, double memory_bytes = 1e18);

/// Returns up to pipeline::kMaxDeviceClasses devices on separate machines, each with a link to the first machine only.
/// Transfers between two others pass through the first, so they need twice the time. `memory_bytes` is the memory of
/// each device.
pipeline::Devices star_devices(std::int64_t count, const pipeline::Link& link, double memory_bytes = 1e18);

/// A plan with its schedule and the simulated time of a step.
struct ChosenPlan {
  pipeline::PipelinePlan plan;  ///< Stages and their devices.
  pipeline::Schedule schedule;  ///< Order of passes on each rank.
  double seconds = 0;           ///< Simulated seconds of one step.
};
/// Returns the fastest of several plans by simulation, for micro-batches of `micro_batch` samples.
///
/// The candidates are the planner's plan, and the same with its stages split into independent branches, which take
/// turns on their rank. Each is tried with split backward passes, and with all forward passes first. Errors: those of
/// pipeline::make_plan.
Result<ChosenPlan> chosen_plan(const pipeline::Problem& problem, std::int64_t micro_batch);

/// Converts a plan and its schedule (without transfers) to the stages that a program runs.
///
/// `nodes` are PlannedModel::nodes. The result holds the simulated times of all passes. The schedule is proved to end.
/// Errors: those of pipeline::check and pipeline::prove; kUnimplemented if several devices share the micro-batches of a
/// stage, or if the schedule has transfers.
Result<program::Stages> executable_stages(const pipeline::PipelinePlan& plan, const pipeline::Schedule& schedule,
                                          const pipeline::Problem& problem, const std::vector<graph::NodeId>& nodes);

/// Returns the measured and expected times of a step as the log stores them. Nothing if no times were expected, or if
/// the log cannot hold the record: too many stages, ranks or passes, or a value out of range (pipeline::fits_record).
std::optional<pipeline::TimedStep> timed_step_of(const program::StepTimes& times);

}  // namespace lanista::runtime
