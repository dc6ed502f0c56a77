#pragma once

#include <vector>

#include "lanista/base/result.h"
#include "lanista/graph/cost_table.h"
#include "lanista/graph/graph.h"
#include "lanista/graph/op.h"
#include "lanista/nn/stages.h"
#include "lanista/pipeline/schedule.h"

// From what room `pipeline` plans to what room `nn` runs.
namespace lanista::runtime {

/// A model as a planner sees it, and the model's node of each of its operators.
struct PlannedModel {
  pipeline::Model model;
  std::vector<graph::NodeId> nodes;  ///< all but input and output, in dependency order
};

/// Costs by count of operations and bytes at these prices; bytes of float32 values. `copies` are numbers held for every
/// parameter. Nothing is measured: whoever has measured puts the times in. Errors: as of graph::infer_shapes.
Result<PlannedModel> planned_model(const graph::Graph& graph, const graph::OpTable& ops, std::int64_t batch,
                                   double copies, const graph::CostPrices& prices = {});

/// A plan with its schedule (without transfers) as threads of one process run it, a place a thread. What is given is
/// checked, and proved to end, before anything is made of it. Errors: those of pipeline::check and pipeline::prove;
/// kUnimplemented where several devices share the micro-batches of a stage.
Result<nn::Stages> stages_of(const pipeline::Plan& plan, const pipeline::Schedule& schedule,
                             const pipeline::Problem& problem, const std::vector<graph::NodeId>& nodes);

}  // namespace lanista::runtime
