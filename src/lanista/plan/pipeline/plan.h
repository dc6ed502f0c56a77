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
  std::int64_t micro_batch = 1;           ///< Samples of a micro-batch on all devices; divides the batch.
  std::int64_t k = 1;                     ///< Forward and backward passes alternate in turns of k micro-batches.
  std::vector<std::int64_t> devices;      ///< Numbers of devices, in ascending order.
  std::int64_t in_flight = 1;             ///< Most samples between forward and backward pass.
  std::vector<std::uint32_t> successors;  ///< Numbers of waiting stages, ascending, with all that read from it.
  bool operator==(const Stage&) const = default;
};

/// A model that is cut into stages. A value.
struct PipelinePlan {
  Digest model;               ///< Model::hash of the model that is cut.
  std::int64_t batch = 1;     ///< Samples of a step.
  std::vector<Stage> stages;  ///< In dependency order.
  bool operator==(const PipelinePlan&) const = default;
};

/// An edge of the stage graph: one stage waits for another.
struct StageEdge {
  std::uint32_t from = 0;       ///< Number of the stage that produces the values.
  std::uint32_t to = 0;         ///< Number of the stage that waits for them.
  double bytes_per_sample = 0;  ///< Bytes of all values that it reads; 0 if it only waits.
  bool operator==(const StageEdge&) const = default;
};
/// Returns the edges of the stage graph, in ascending order of (from, to).
std::vector<StageEdge> edges_of(const PipelinePlan& plan, const Model& model);

/// Returns the plan in dependency order, with successors, turns k and samples in flight computed from operators and
/// micro-batches.
///
/// With `chain` every stage also waits for the previous one, as in a sequential pipeline. Errors: kInvalidArgument if
/// the stages form a cycle.
Result<PipelinePlan> arranged(PipelinePlan plan, const Model& model, bool chain = false);

/// Sets the samples in flight of every stage. Stages must be in dependency order.
///
/// A last stage has k b, with its turn k and its micro-batch b. Other stages have the largest p_j + max(k b, k_j b_j)
/// over their successors j, where p_j are the samples in flight of j. This is rounded up to a whole micro-batch, and is
/// at most the batch.
void set_in_flight(PipelinePlan& plan);
/// Reduces samples in flight until all stages fit into memory, or none can have fewer.
///
/// On each full device, the stage with the most bytes loses one micro-batch at a time, down to one turn. No stage then
/// has more samples in flight than a stage before it. It needs stages of one micro-batch size with k = 1, in dependency
/// order. The stages may still not fit.
void limit_in_flight(PipelinePlan& plan, const Problem& problem);
/// Sets the turns k of every stage so that no stage waits for input where micro-batches shrink along the graph.
///
/// k of stage j is the largest ceil(k_i b_i / b_j) over its predecessors i, at least 1, where b is the micro-batch of a
/// stage. So a stage with smaller micro-batches than a predecessor takes more of them in a turn, and stages after it
/// keep that. Stages must be in dependency order.
void set_turns(PipelinePlan& plan);

/// Returns the bytes that each stage needs on each of its devices, in the order of the stages.
///
/// These are the parameters with their copies, and the activations and received values of the samples in flight.
std::vector<double> bytes_of(const PipelinePlan& plan, const Model& model);
/// Checks that all stages fit into memory, with stages on the same devices counted together. Errors: kResourceExhausted
/// with the stage, its bytes and the bytes of the device.
Result<void> fits(const PipelinePlan& plan, const Problem& problem);
/// Returns the number of stages on the longest path of the stage graph; 0 without stages.
std::size_t depth_of(const PipelinePlan& plan);

/// Checks that the plan is valid for this problem.
///
/// Errors: kFailedPrecondition for the plan of another model; kResourceExhausted if a stage does not fit its devices;
/// kInvalidArgument with stage, value and what is allowed. The last is for:
/// - another batch than that of the model;
/// - a stage without operators or devices, an operator in no stage or in two, and a stage that waits for a later one;
/// - a missing successor, and successors or devices that are not ascending;
/// - a micro-batch that does not divide the batch, and k or samples in flight that are no whole micro-batches;
/// - devices that do not exist, have two classes, or belong to stages with different sets of devices.
Result<void> check(const PipelinePlan& plan, const Problem& problem);

/// Returns a plan as JSON: {"pipeline": 1, "model": hash, "batch", "stages": [{"operators", "micro_batch", "k",
/// "devices", "in_flight", "successors"}, ...]}.
nlohmann::json plan_json(const PipelinePlan& plan);
/// Reads the JSON of plan_json. Call check() before the plan is used.
///
/// Errors: kDataLoss with the member and what is allowed.
Result<PipelinePlan> read_plan(const nlohmann::json& json);

}  // namespace lanista::pipeline
