#pragma once

#include <map>
#include <span>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/transfer/transfer.h"

namespace lanista::zoo {

/// Returns the importance of each unit (channel or feature) of the values of a model, by node id, then index of the
/// unit.
///
/// The importance is the sum of weight times gradient over the linear and convolutional layers that read the unit: the
/// fall of the loss, to first order, if they read less of the unit. It may be negative. Units that are added to each
/// other are one unit. Values that no such layer reads are left out. `weights` and `gradients` have a tensor for each
/// parameter, by name. Errors: as in `verify` (kNotFound, kInvalidArgument); kInvalidArgument if a tensor is missing or
/// has another shape. Source: Molchanov et al. 2017, "Pruning convolutional neural networks", there for activations.
Result<std::map<graph::NodeId, std::vector<double>>> unit_importance(const graph::Graph& model,
                                                                     const graph::OpTable& ops,
                                                                     std::span<const Tensor> weights,
                                                                     std::span<const Tensor> gradients);

/// True if the child uses only a part of the units of some tensor of the parent that is mapped, so that units were
/// removed. Errors: as in `graph::infer_shapes` (kNotFound, kInvalidArgument) for the parent.
Result<bool> has_fewer_units(const TransferPlan& plan, const graph::Graph& parent, const graph::OpTable& ops);

}  // namespace lanista::zoo
