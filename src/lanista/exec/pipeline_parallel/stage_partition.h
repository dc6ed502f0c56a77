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
namespace lanista::nn {

/// Checks that the stages belong to this model, and that the ranks' lists of passes can run with their slots. Errors:
/// kInvalidArgument, naming the wrong stage, node or pass and what is allowed.
Result<void> check(const Stages& stages, const step::TrainingStep& train);

/// The stage of each step node, and the values that cross stages, which lowering must not fuse.
struct StagePartition {
  std::map<graph::NodeId, std::uint32_t> stage;  ///< Stage of each step node that belongs to one. Losses: the last.
  std::set<graph::Port> edge_values;             ///< Values that another stage reads.
};
/// Assigns the nodes of a step to stages.
StagePartition partition_of(const Stages& stages, const step::TrainingStep& train);

/// A value that one stage computes and another one reads.
struct StageEdge {
  graph::Port value;
  std::uint32_t from = 0, to = 0;  ///< stages
  bool gradient = false;           ///< whether a backward pass computes it
  graph::ValueType type;
};

/// The calls of one stage in order of its passes: forward, input gradient, weight gradient.
struct StageCalls {
  std::vector<KernelCall> calls;
  std::array<std::size_t, 4> begin{};  ///< first call of each pass, and the number of calls
};

/// The lowered calls of all stages.
struct StageProgram {
  std::vector<StageCalls> stages;
  std::vector<StageEdge> edges;  ///< ascending by (from, value, to)
};

/// Assigns lowered calls to stages. Errors: kUnimplemented if a value without batch axis crosses stages.
Result<StageProgram> assign_calls(const LoweredGraph& lowered, const StagePartition& cut,
                                  const step::TrainingStep& train, std::size_t stages);

}  // namespace lanista::nn
