#pragma once

#include <span>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"

namespace lanista::formats {

/// The parameters and buffers of a model in the order of graph::parameters, as float32, picked from `given` by name;
/// tensors of other names are passed over, so a lane's whole state will do. float64 is rounded.
/// Errors: kInvalidArgument for one that is missing, of another shape, or holds no real numbers.
Result<std::vector<Tensor>> float_weights(const graph::Graph& graph, const graph::OpTable& ops,
                                          std::span<const Tensor> given);

}  // namespace lanista::formats
