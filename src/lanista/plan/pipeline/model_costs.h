#pragma once

#include <string_view>

#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/plan/cost/costs.h"
#include "lanista/plan/pipeline/model.h"

namespace lanista::pipeline {

/// The names of the passes in the texts of work (plan::work_text).
inline constexpr std::string_view kPasses[] = {"forward", "input_grad", "weight_grad"};

/// Returns the model of a graph with its costs, one operator a node, in dependency order.
///
/// Input and output nodes of the graph are not operators. Values are float32. An operator keeps its output until the
/// backward pass. `batch` is the number of samples of a step. `parameter_copies` is Model::parameter_copies. The hash
/// is graph::canonical_hash.
///
/// The rows of `costs` for plan::work_text of a pass at 1, 2, 4, ... samples are used as long as there are any. If the
/// first size was not measured, all sizes are predicted from the prices, with gradients as expensive as the forward
/// pass. The weight gradient of a node without trained parameters costs nothing. Errors: those of graph::infer_shapes
/// (kNotFound, kInvalidArgument) and of check(Model).
Result<Model> model_of(const graph::Graph& graph, const graph::OpTable& ops, std::int64_t batch,
                       double parameter_copies, const plan::Costs& costs);

}  // namespace lanista::pipeline
