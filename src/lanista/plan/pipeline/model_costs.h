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
/// not measured, all sizes are predicted from `prices`, with gradients as expensive as the forward pass. The weight
/// gradient of a node without trained parameters costs nothing.
struct NodeCosts {
  graph::CostTable table;    ///< Measured rows.
  graph::CostKey machine;    ///< CPU, threads, version and lanes of the rows to use; `work` is ignored.
  graph::CostPrices prices;  ///< Rates for predictions.
};

/// The names of the passes in rows of a cost table.
inline constexpr std::string_view kPasses[] = {"forward", "input_grad", "weight_grad"};
/// Returns CostKey::work of a pass of a node over `samples` samples: "forward linear(out=16) [N, 64], batch 4". Equal
/// nodes have equal keys. `pass` is one of kPasses.
std::string pass_work(std::string_view pass, const graph::Node& node, const graph::Types& types, std::int64_t samples);

/// Returns the model of a graph with its costs, one operator a node, in dependency order.
///
/// Input and output nodes of the graph are not operators. Values are float32. An operator keeps its output until the
/// backward pass. `batch` is the number of samples of a step. `parameter_copies` is Model::parameter_copies. The hash
/// is graph::canonical_hash. Errors: those of graph::infer_shapes (kNotFound, kInvalidArgument) and of check(Model).
Result<Model> model_of(const graph::Graph& graph, const graph::OpTable& ops, std::int64_t batch,
                       double parameter_copies, const NodeCosts& costs);

}  // namespace lanista::pipeline
