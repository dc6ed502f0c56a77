#pragma once

#include <span>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"

namespace lanista::formats {

/// Copies of the parameters and buffers of a model as float32, in the order of graph::parameters(), found in `given` by
/// name.
///
/// Tensors with other names are ignored, so `given` may be the whole state of a lane. float64 is rounded to nearest.
/// Errors: kInvalidArgument (a tensor is missing, has another shape, or has integers).
Result<std::vector<Tensor>> float_weights(const graph::Graph& graph, const graph::OpTable& ops,
                                          std::span<const Tensor> given);

}  // namespace lanista::formats
