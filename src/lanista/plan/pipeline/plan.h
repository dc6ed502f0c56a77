#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lanista/plan/pipeline/model.h"

namespace lanista::pipeline {

/// Operators that run together, micro-batch by micro-batch, on devices of one class.
///
/// Several devices divide each micro-batch (data parallelism). Stages with equal devices alternate on them.
struct Stage {
  std::vector<std::uint32_t> operators;   ///< Numbers of operators, in ascending order.
  std::int64_t micro_batch = 1;           ///< Samples of a micro-batch; divides the batch.
  std::int64_t k = 1;                     ///< Forward and backward passes alternate in turns of k.
  std::vector<std::int64_t> devices;      ///< Numbers of devices, in ascending order.
  std::int64_t in_flight = 1;             ///< Most samples with activations that are held.
  std::vector<std::uint32_t> successors;  ///< Stages that wait for this one, in ascending order, with all readers.
  bool operator==(const Stage&) const = default;
};

/// A model that is cut into stages. A value.
struct PipelinePlan {
  Digest model;               ///< Hash of the model.
  std::int64_t batch = 1;     ///< Samples of a step.
  std::vector<Stage> stages;  ///< In dependency order.
  bool operator==(const PipelinePlan&) const = default;
};

/// An edge of the stage graph.
struct StageEdge {
  std::uint32_t from = 0;       ///< Producing stage.
  std::uint32_t to = 0;         ///< Waiting stage.
  double bytes_per_sample = 0;  ///< Bytes of all operators that are read; 0 if the stage only waits.
  bool operator==(const StageEdge&) const = default;
};
/// Returns the edges of the stage graph, in ascending order of (from, to).
std::vector<StageEdge> edges_of(const PipelinePlan& plan, const Model& model);

/// Returns the plan with successors, stages in dependency order, and samples in flight.
///
/// With `chain` every stage also waits for the previous one, as in a sequential pipeline. Errors: kInvalidArgument if
/// the stages form a cycle.
Result<PipelinePlan> arranged(PipelinePlan plan, const Model& model, bool chain = false);

/// Sets the samples in flight of every stage. Stages must be in dependency order.
///
/// A last stage has k b. Other stages have the largest p_j + max(k b, k_j b_j) over their successors j, rounded up to a
/// whole micro-batch and at most the batch. Here p_j are the samples of j, b is the micro-batch and k the turn.
void set_in_flight(PipelinePlan& plan);
/// Reduces samples in flight where stages do not fit into memory.
///
/// It removes one micro-batch at a time, of the stage with most samples on a device. No stage then has more than a
/// stage before it, and such stages wait for their successors. It needs stages of one micro-batch size with k = 1, in
/// dependency order. The stages may still not fit.
void limit_in_flight(PipelinePlan& plan, const Problem& problem);
/// Sets k of every stage so that no stage waits for input where micro-batches shrink along the graph.
///
/// k is the largest ceil(k_i b_i / b_j) over predecessors i, and 1 where micro-batches do not shrink.
void set_turns(PipelinePlan& plan);

/// Returns the bytes of each stage on each of its devices.
///
/// These are the parameters with their copies, and the activations and received values of the samples in flight.
std::vector<double> bytes_of(const PipelinePlan& plan, const Model& model);
/// Checks that all stages fit into memory, with stages on the same devices counted together.
Result<void> fits(const PipelinePlan& plan, const Problem& problem);
/// Returns the number of stages on the longest path.
std::size_t depth_of(const PipelinePlan& plan);

/// Checks that the plan is valid for this problem.
///
/// Errors: kFailedPrecondition for the plan of another model; kResourceExhausted if a stage does not fit its devices;
/// kInvalidArgument with stage, value and what is allowed. The last is for:
/// - an operator in no stage or in two, a cycle of stages, and a missing successor;
/// - a micro-batch that does not divide the batch, and k or samples in flight that are no whole micro-batches;
/// - devices that do not exist, have two classes, or belong to stages with different sets of devices.
Result<void> check(const PipelinePlan& plan, const Problem& problem);

/// Returns a plan as JSON: {"pipeline": 1, "model": hash, "batch": ..., "stages": [...]}.
nlohmann::json plan_json(const PipelinePlan& plan);
/// Reads the JSON of plan_json. Call check() before the plan is used.
///
/// Errors: kDataLoss with the member and what is allowed.
Result<PipelinePlan> read_plan(const nlohmann::json& json);

}  // namespace lanista::pipeline
