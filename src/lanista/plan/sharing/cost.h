#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/shape.h"
#include "lanista/plan/cost/costs.h"

namespace lanista::sharing {

/// The work of one node in one step of its trial: forward and backward pass over the whole batch.
struct OperatorWork {
  std::shared_ptr<const graph::Node> operation;  ///< Operator and attributes; its `inputs` are not used.
  std::vector<graph::ValueType> inputs;          ///< Types of the data inputs, in order; parameters are left out.
  std::int64_t batch = 1;                        ///< Samples of a batch.
  bool input_grad = false;                       ///< True: the backward pass computes gradients of its inputs.
  bool weight_grad = false;                      ///< True: its weights are trained.
  /// Kernel launches of the step; 0 for a data step, and for a node that only names a value.
  double launches = 0;
  double flops = 0;     ///< FLOPs of both passes over the batch.
  double in_bytes = 0;  ///< Bytes of its inputs, counted once for every pass that reads them.
  /// Bytes of outputs and weights, counted once for each launch, and of the gradients of the inputs if `input_grad`.
  double other_bytes = 0;
  double host_us = 0;  ///< Microseconds of a data step for the batch; 0 for other nodes.
};

/// Returns CostKey::work of a node's step: its forward pass, and the gradients that its backward pass computes.
std::string work_text(const OperatorWork& work);

/// Predicts the microseconds of one step of one operator that computes all `lanes`, which must not be empty.
///
/// It is a model of the CPU backend, which computes lanes one after another. A lane costs as much as a trial alone, and
/// a group saves only the work that its lanes share.
double op_us(const plan::Costs& costs, std::span<const OperatorWork* const> lanes);

}  // namespace lanista::sharing
