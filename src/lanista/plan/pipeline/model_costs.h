#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/plan/cost/cost_table.h"
#include "lanista/plan/pipeline/model.h"

namespace lanista::pipeline {

/// Sources of the times of a node's passes.
///
/// The rows of `table` for pass_work at 1, 2, 4, ... samples are used as long as there are any. If the first size was
/// not measured, the time is predicted from `prices`, with gradients as expensive as the forward pass.
struct NodeCosts {
  graph::CostTable table;    ///< Measured rows.
  graph::CostKey machine;    ///< CPU, threads, version and lanes of the rows to use.
  graph::CostPrices prices;  ///< Rates for predictions.
};

/// The names of the passes in rows of a cost table.
inline constexpr std::string_view kPasses[] = {"forward", "input_grad", "weight_grad"};
/// Returns the key of a pass in a cost table: "forward linear(out=16) [N, 64], batch 4". Equal nodes share it.
std::string pass_work(std::string_view pass, const graph::Node& node, const graph::Types& types, std::int64_t samples);

/// Returns the model of a graph with its costs, one operator a node, in dependency order.
///
/// Inputs and outputs are not operators. Values are float32. An operator keeps its output until the backward pass.
/// `parameter_copies` counts weight, gradient and optimiser state. The hash is the canonical one of the graph. Errors:
/// those of graph::infer_shapes and of check(Model).
Result<Model> model_of(const graph::Graph& graph, const graph::OpTable& ops, std::int64_t batch,
                       double parameter_copies, const NodeCosts& costs);

}  // namespace lanista::pipeline
