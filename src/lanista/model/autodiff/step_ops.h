#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lanista/model/graph/op.h"

// The operators that occur only in step graphs, by theme.
namespace lanista::autodiff {

/// Adds the definitions of the sources of step graphs and of the operators of the commit section. Errors:
/// kAlreadyExists for a name in the table.
Result<void> add_state_ops(graph::OpTable& table);
/// Adds the definitions of the gradients of linear layers and convolutions. Errors: kAlreadyExists.
Result<void> add_linear_grad_ops(graph::OpTable& table);
/// Adds the definitions of the train forms of normalisations and their gradients. Errors: kAlreadyExists.
Result<void> add_norm_train_ops(graph::OpTable& table);
/// Adds the definitions of the gradients of sequence operators. Errors: kAlreadyExists.
Result<void> add_sequence_grad_ops(graph::OpTable& table);
/// Adds the definitions of the gradients of slices, gates, resizing and local response normalisation, and of
/// `negative`, which the gradients of subtraction and division use. Errors: kAlreadyExists.
Result<void> add_image_grad_ops(graph::OpTable& table);
/// Adds the definitions of the gradients of softmax, dropout, pooling and data movement. Errors: kAlreadyExists.
Result<void> add_other_grad_ops(graph::OpTable& table);

/// Defines a step operator with `num_inputs` inputs and no attributes. `infer` returns the types of its outputs.
graph::OpDef step_op(std::string name, std::string help, int num_inputs,
                     std::function<Result<std::vector<graph::ValueType>>(const graph::OpArgs&)> infer);

/// Defines the train form of a built-in operator. It has the inputs, attributes and parameters of `model_op`; the
/// caller adds outputs and gradient.
graph::OpDef train_form_of(std::string_view model_op);

}  // namespace lanista::autodiff
