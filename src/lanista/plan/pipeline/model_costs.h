#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/plan/cost/cost_table.h"
#include "lanista/plan/pipeline/model.h"

namespace lanista::pipeline {

/// What a node's passes take: rows of `table` under pass_work at 1, 2, 4, ... samples, as long as there are any; where
/// the first size was not measured, a prediction by `prices` (a gradient costs what the forward pass does).
struct NodeCosts {
  graph::CostTable table;
  graph::CostKey machine;  ///< that rows must share; its `work` is not read
  graph::CostPrices prices;
};

inline constexpr std::string_view kPasses[] = {"forward", "input_grad", "weight_grad"};
/// "forward linear(out=16) [N, 64], batch 4": what a row of a pass is called. Nodes that do the same share it.
std::string pass_work(std::string_view pass, const graph::Node& node, const graph::Types& types, std::int64_t samples);

/// A model with its costs: an operator a node, without input and output, in dependency order; bytes of float32 values.
/// What is kept of an operator is what it gives. `parameter_copies`: weight, gradient and slots of the optimiser. Its
/// hash is the graph's canonical one. Errors: those of graph::infer_shapes; of check(Model).
Result<Model> model_of(const graph::Graph& graph, const graph::OpTable& ops, std::int64_t batch,
                       double parameter_copies, const NodeCosts& costs);

}  // namespace lanista::pipeline
