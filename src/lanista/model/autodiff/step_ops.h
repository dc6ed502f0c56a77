#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lanista/model/graph/op.h"

// The operators that exist only in step graphs, by theme. Errors: kAlreadyExists, the table has one of the names.
namespace lanista::step {

Result<void> add_state_ops(graph::OpTable& table);          ///< sources and the commit section
Result<void> add_linear_grad_ops(graph::OpTable& table);    ///< of linear and convolution
Result<void> add_norm_train_ops(graph::OpTable& table);     ///< train forms of normalisations, and their gradients
Result<void> add_sequence_grad_ops(graph::OpTable& table);  ///< of sequences
Result<void> add_image_grad_ops(graph::OpTable& table);     ///< of slices, gates, sizes
Result<void> add_other_grad_ops(graph::OpTable& table);     ///< of softmax, dropout, pooling and data movement

/// An operator of step graphs with a fixed number of inputs and no attributes yet.
graph::OpDef step_op(std::string name, std::string help, int num_inputs,
                     std::function<Result<std::vector<graph::ValueType>>(const graph::OpArgs&)> infer);

/// The train form of a shipped operator: the same inputs, attributes and parameters, inferred by `infer`.
graph::OpDef train_form_of(std::string_view model_op);

}  // namespace lanista::step
