#pragma once

#include <array>
#include <map>
#include <set>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/program/lower.h"
#include "lanista/exec/pipeline_parallel/stages.h"
#include "lanista/model/autodiff/training_step.h"

// Which part of a derived step is whose. A step is one graph, forward and backward, so a cut of the model is a cut of
// the step: what goes from stage to stage, either way, are ordinary values of it.
namespace lanista::nn {

/// Whether the stages are some of this model and the lists of their places can be run in the memory they say. Errors:
/// kInvalidArgument naming the stage, node or pass that is wrong and what is allowed.
Result<void> check(const Stages& stages, const step::TrainingStep& train);

/// Values of a step that another stage reads than the one which makes them: lowering must leave them alone.
struct StagePartition {
  std::map<graph::NodeId, std::uint32_t> stage;  ///< of every step node that serves one; losses are the last stage's
  std::set<graph::Port> edge_values;
};
StagePartition partition_of(const Stages& stages, const step::TrainingStep& train);

/// A value that one stage makes and another one reads.
struct StageEdge {
  graph::Port value;
  std::uint32_t from = 0, to = 0;
  bool gradient = false;  ///< made by a backward pass
  graph::ValueType type;
};

/// The calls of one stage: of its forward pass, of the part of the backward pass that others wait for, and of the rest.
struct StageCalls {
  std::vector<KernelCall> calls;
  std::array<std::size_t, 4> begin{};  ///< of the three passes, and the end
};

struct StageProgram {
  std::vector<StageCalls> stages;
  std::vector<StageEdge> edges;  ///< ascending by (from, value, to)
};

/// Deals out lowered calls. Errors: kUnimplemented where a value without samples would go from stage to stage.
Result<StageProgram> assign_calls(const LoweredGraph& lowered, const StagePartition& cut, const step::TrainingStep& train,
                         std::size_t stages);

}  // namespace lanista::nn
