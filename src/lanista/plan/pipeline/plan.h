#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lanista/plan/pipeline/model.h"

namespace lanista::pipeline {

/// Operators that run together, micro-batch by micro-batch, on devices of one class. Several devices share every
/// micro-batch among themselves (data parallel). Stages with equal devices take turns there.
struct Stage {
  std::vector<std::uint32_t> operators;   ///< ascending
  std::int64_t micro_batch = 1;           ///< samples; divides the batch
  std::int64_t k = 1;                     ///< forwards and backwards alternate in turns of k
  std::vector<std::int64_t> devices;      ///< ascending
  std::int64_t in_flight = 1;             ///< samples whose activations are held at most
  std::vector<std::uint32_t> successors;  ///< stages that wait for this one, ascending; those that read it among them
  bool operator==(const Stage&) const = default;
};

/// A model cut into stages: a value, in dependency order of its stages.
struct PipelinePlan {
  Digest model;
  std::int64_t batch = 1;
  std::vector<Stage> stages;
  bool operator==(const PipelinePlan&) const = default;
};

/// An edge of the stage graph and what passes along it.
struct StageEdge {
  std::uint32_t from = 0, to = 0;
  double bytes_per_sample = 0;  ///< of different operators read; 0 where a stage merely waits
  bool operator==(const StageEdge&) const = default;
};
/// Ascending by (from, to).
std::vector<StageEdge> edges_of(const PipelinePlan& plan, const Model& model);

/// Fills in successors from the model's edges, brings stages into dependency order and applies the in-flight rule. With
/// `chain` every stage also waits for the one before, as in a sequential pipeline, and has its in-flight samples.
/// Errors: kInvalidArgument where stages form a circle.
Result<PipelinePlan> arranged(PipelinePlan plan, const Model& model, bool chain = false);

/// Samples in flight of every stage (graphpipe.md 4.2): k b at a sink; elsewhere, over all successors j, the most of
/// p_j + max(k b, k_j b_j), up to a whole micro-batch; never more than the batch, of which is all the first word.
/// Requires dependency order.
void set_in_flight(PipelinePlan& plan);
/// Where stages do not fit into memory, fewer samples in flight than the rule's, a micro-batch at a time of whichever
/// of a device's stages holds most, and nowhere more than in a stage before it; such stages wait for their successors.
/// For plans whose stages have one micro-batch size and k of 1. They may still not fit. Requires dependency order.
void limit_in_flight(PipelinePlan& plan, const Problem& problem);
/// k of every stage such that no stage starves where micro-batches shrink towards the sink: max over predecessors i of
/// ceil(k_i b_i / b_j); 1 where they do not.
void set_turns(PipelinePlan& plan);

/// The same of all stages, in one pass over the model.
std::vector<double> bytes_of(const PipelinePlan& plan, const Model& model);
/// Whether they all fit into the memory of their devices; those that share devices together.
Result<void> fits(const PipelinePlan& plan, const Problem& problem);
/// Stages on the longest path.
std::size_t depth_of(const PipelinePlan& plan);

/// Whether the plan is one of this problem. Errors: kFailedPrecondition of another model's plan; kInvalidArgument
/// naming stage, value and what is allowed: an operator in no stage or in two, a circle of stages, a successor left
/// out, micro-batches that do not divide the batch, devices that are not there, of two classes or in two stages'
/// unequal sets, k or in-flight samples that are no whole micro-batches; kResourceExhausted where a stage does not fit
/// its devices.
Result<void> check(const PipelinePlan& plan, const Problem& problem);

/// {"pipeline": 1, "model": hash, "batch": ..., "stages": [...]}
nlohmann::json plan_json(const PipelinePlan& plan);
/// Errors: kDataLoss naming what is wrong with it; it is a plan of some problem only after check().
Result<PipelinePlan> read_plan(const nlohmann::json& json);

}  // namespace lanista::pipeline
