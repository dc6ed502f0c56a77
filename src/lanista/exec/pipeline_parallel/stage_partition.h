#pragma once

#include <array>
#include <map>
#include <set>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/pipeline_parallel/stages.h"
#include "lanista/exec/program/lower.h"
#include "lanista/model/autodiff/training_step.h"

// The assignment of a training step to stages. A step is one graph of forward and backward pass, so stages of a model
// are parts of that graph. Values and gradients between stages are ordinary values of it.
namespace lanista::program {

/// Checks that each operator of the model of `train` is in one stage, and that a stage waits for all stages that it
/// reads. Also checks that the ranks' lists have every pass, in an order that each stage can run with its slots; not
/// that ranks never wait for each other for ever (pipeline::prove). Errors: kInvalidArgument, naming the wrong stage,
/// node or pass and what is allowed.
Result<void> check(const Stages& stages, const autodiff::TrainingStep& train);

/// The stage of each step node, and the values that cross stages, which lowering must not fuse.
struct StagePartition {
  /// Index of the stage of each computed step node. Nodes without a model node, such as the loss, belong to the stage
  /// of the prediction.
  std::map<graph::NodeId, std::uint32_t> stage;
  std::set<graph::Port> edge_values;  ///< Values that another stage reads, which lowering must not fuse.
};
/// Assigns the computed nodes of a step (TrainingStep::compute) to stages, and finds the values that cross stages.
/// Sources and commit nodes have no stage. Requires stages that check() accepts.
StagePartition partition_of(const Stages& stages, const autodiff::TrainingStep& train);

/// A value that one stage computes and another one reads.
struct StageEdge {
  graph::Port value;               ///< Value of the step graph.
  std::uint32_t from = 0, to = 0;  ///< Indices of the stage that computes it and the stage that reads it.
  bool gradient = false;           ///< True: a backward pass computes it.
  graph::ValueType type;           ///< Type of the value.
};

/// The calls of one stage, grouped by its passes in this order: forward, input gradient, weight gradient.
struct StageCalls {
  std::vector<KernelCall> calls;       ///< Calls of all passes.
  std::array<std::size_t, 4> begin{};  ///< Index of the first call of each pass; the last entry is the number of calls.
};

/// The lowered calls of all stages.
struct StageProgram {
  std::vector<StageCalls> stages;  ///< Calls of each stage, by index.
  std::vector<StageEdge> edges;    ///< Values between stages, ascending by (from, value, to).
};

/// Assigns lowered calls to `stages` stages. Errors: kUnimplemented if a value without batch axis crosses stages.
Result<StageProgram> assign_calls(const LoweredGraph& lowered, const StagePartition& cut,
                                  const autodiff::TrainingStep& train, std::size_t stages);

}  // namespace lanista::program
