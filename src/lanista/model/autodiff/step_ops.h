#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lanista/model/graph/op.h"
#include "lanista/model/ops/op_rules.h"

// The operators that occur only in step graphs, by theme.
namespace lanista::autodiff {

// The names that all their definitions use.
using graph::AttrRole;
using graph::DType;
using graph::OpArgs;
using graph::OpDef;
using graph::Shape;
using graph::ValueType;
namespace ops = graph::ops;

/// Types of an operator's outputs, or why its inputs do not fit.
using Types = Result<std::vector<ValueType>>;

/// Adds the sources of step graphs (`parameter`, `buffer`, `slot`, `target`) and the operators of the commit section
/// (`buffer_update`, and `<name>_update` of each optimiser). Errors: kAlreadyExists for a name in the table.
Result<void> add_state_ops(graph::OpTable& table);
/// Adds the definitions of the gradients of linear layers and convolutions by input, weight and bias. Errors:
/// kAlreadyExists for a name in the table.
Result<void> add_linear_grad_ops(graph::OpTable& table);
/// Adds the train forms of batch, layer and group normalisation and their gradients. Errors: kAlreadyExists for a name
/// in the table.
Result<void> add_norm_train_ops(graph::OpTable& table);
/// Adds the definitions of the gradient of embeddings, and of `batch_sum`: the sum over the samples, which is the
/// gradient of a value that all samples share. Errors: kAlreadyExists for a name in the table.
Result<void> add_sequence_grad_ops(graph::OpTable& table);
/// Adds the definitions of the gradients of slices, gates, resizing and local response normalisation, and of
/// `negative`, which the gradients of subtraction and division use. Errors: kAlreadyExists for a name in the table.
Result<void> add_image_grad_ops(graph::OpTable& table);
/// Adds the gradients of softmax, padding (`crop`) and means, and the train form of dropout. Errors: kAlreadyExists for
/// a name in the table.
Result<void> add_other_grad_ops(graph::OpTable& table);

/// Defines a step operator with `num_inputs` inputs and no attributes. `infer` returns the types of its outputs.
OpDef step_op(std::string name, std::string help, int num_inputs, std::function<Types(const OpArgs&)> infer);

/// Defines the train form of a built-in operator, with the name "<model_op>_train" and no gradient rule. It has the
/// inputs, attributes, parameters, cost and shape inference of `model_op`; the caller adds further outputs. An unknown
/// name is a bug of the caller.
OpDef train_form_of(std::string_view model_op);
/// Defines the gradient operator "<model_op>_grad" of a forward value and dy of its shape, with the attributes of
/// `model_op`.
OpDef grad_of(const std::string& model_op);

}  // namespace lanista::autodiff
