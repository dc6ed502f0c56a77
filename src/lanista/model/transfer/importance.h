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

/// For the channels (features) of a model's values: by how much the loss falls, to first order, when all that reads one
/// of them reads it a little less (the sum of weight times gradient over linear and convolutional layers that read it,
/// through whatever passes it on; Molchanov et al. 2017, "Pruning convolutional neural networks", of activations). Such
/// a sum is of a channel in all of its places, since those that meet in a sum go together. Values of which no such
/// layer reads anything are left out. `gradients`: of the loss, by the names of the parameters. Errors: verify's,
/// kInvalidArgument (a tensor is missing, or is of another shape).
Result<std::map<graph::NodeId, std::vector<double>>> unit_importance(const graph::Graph& model,
                                                                     const graph::OpTable& ops,
                                                                     std::span<const Tensor> weights,
                                                                     std::span<const Tensor> gradients);

/// Whether the child has, of some tensor of the parent, less than all along an axis.
Result<bool> has_fewer_units(const TransferPlan& plan, const graph::Graph& parent, const graph::OpTable& ops);

}  // namespace lanista::zoo
