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
/// The importance is the sum of weight times gradient over the layers `linear`, `conv2d` and `conv1d`, without groups,
/// that read the unit. It is the fall of the loss, to first order, if they read less of the unit, and may be negative.
/// Units that are added to each other are one unit. Values that no such layer reads are left out.
///
/// `weights` and `gradients` have a float32 or float64 tensor "nID.weight" for each of these layers; others are not
/// read. Errors: as in `verify` (kNotFound, kInvalidArgument); kInvalidArgument if a tensor is missing or has another
/// shape. Source: Molchanov et al. 2017, "Pruning convolutional neural networks", there for activations.
Result<std::map<graph::NodeId, std::vector<double>>> unit_importance(const graph::Graph& model,
                                                                     const graph::OpTable& ops,
                                                                     std::span<const Tensor> weights,
                                                                     std::span<const Tensor> gradients);

/// True if the child uses only a part of the units of some tensor of the parent that is mapped, so that units were
/// removed. Tensors that are made dense from groups do not count. Errors: as in `graph::infer_shapes` (kNotFound,
/// kInvalidArgument) for the parent.
Result<bool> has_fewer_units(const TransferPlan& plan, const graph::Graph& parent, const graph::OpTable& ops);

}  // namespace lanista::zoo
