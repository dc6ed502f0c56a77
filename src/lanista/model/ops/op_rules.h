#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/op.h"

// Helper functions for operator definitions. Other modules that define operators may use them too.
namespace lanista::graph::ops {

/// Largest number of elements of one value for one sample, and of one parameter: 2^31 - 1.
inline constexpr std::int64_t kMaxValueElements = 0x7fffffff;

/// Makes a kInvalidArgument error with this message. Shape inference adds the node and the operator to the message.
Error shape_error(std::string message);

/// Defines an operator with `num_inputs` data inputs, which the caller completes.
OpDef named_op(std::string name, std::string help, int num_inputs = 1);
/// Adds the definitions to the table, in order. Errors: kAlreadyExists for a name in the table.
Result<void> add_all(OpTable& table, std::vector<OpDef> defs);

/// Defines an integer attribute that must be set, with a least value of `min`.
AttrSpec required_int(std::string name, std::int64_t min, AttrRole role, std::string help);
/// Defines an integer attribute with the default `value` and a least value of `min`.
AttrSpec optional_int(std::string name, std::int64_t value, std::int64_t min, AttrRole role, std::string help);
/// Defines an attribute that is a list of integers and must be set. Each element is at least `min`.
AttrSpec required_list(std::string name, std::int64_t min, AttrRole role, std::string help);
/// Defines an attribute that is a list of integers, with the default `value`. Each element is at least `min`.
AttrSpec optional_list(std::string name, std::vector<std::int64_t> value, std::int64_t min, AttrRole role,
                       std::string help);
/// Defines a real attribute with the default `value`.
AttrSpec optional_real(std::string name, double value, AttrRole role, std::string help);
/// Defines a static string attribute with the possible values `allowed`, at least one. The first is the default.
AttrSpec one_of(std::string name, std::vector<std::string> allowed, std::string help);
/// Defines a static boolean attribute with the default `value`.
AttrSpec optional_flag(std::string name, bool value, std::string help);
/// Defines an integer attribute that follows from the inputs, so that no node may set it.
AttrSpec derived(std::string name, std::string help);

/// Returns the types of an operator with one output of this shape. Errors: kInvalidArgument for a dimension below 1, or
/// more than kMaxValueElements elements for one sample.
Result<std::vector<ValueType>> value(Shape shape, DType dtype = DType::kReal);
/// Returns `types` as the types of an operator's outputs, in order, after a check of their sizes.
/// Errors: kInvalidArgument for a dimension below 1, or more than kMaxValueElements elements for one sample.
Result<std::vector<ValueType>> values(std::vector<ValueType> types);

/// Checks that data input `i` has real numbers and a batch dimension. Errors: kInvalidArgument.
Result<void> require_real(const OpArgs& args, std::size_t i = 0);
/// Checks that all data inputs have real numbers, a batch dimension and equal shapes. Errors: kInvalidArgument.
Result<void> require_same_shapes(const OpArgs& args);
/// Checks that data input `i` is a real tensor [N, C, H, W]. Errors: kInvalidArgument.
Result<void> require_image(const OpArgs& args, std::size_t i = 0);
/// Checks that data input `i` has exactly this type. `what` describes the input in the message. Errors:
/// kInvalidArgument.
Result<void> require_type(const OpArgs& args, std::size_t i, const ValueType& type, std::string_view what);
/// Checks that no parameter or buffer has over kMaxValueElements elements. Errors: kInvalidArgument.
Result<void> require_valid_params(const std::vector<ParamSpec>& params);

/// The shape of data input `i`. The reference lives as long as the inputs of `args`.
const Shape& shape_of(const OpArgs& args, std::size_t i = 0);
/// The shape of data input `i` as text for messages, such as "[N, 3, 8, 8]".
std::string shape_text(const OpArgs& args, std::size_t i = 0);
/// Two sizes as text for messages, such as "3x5" for 3 and 5.
std::string size_pair_text(std::int64_t a, std::int64_t b);
/// Makes a shape with these dimensions and no batch dimension.
Shape unbatched(std::vector<std::int64_t> dims);
/// Makes a shape with the batch dimension before `dims`.
Shape batched(std::vector<std::int64_t> dims);
/// The dimensions of a shape except the batch dimension, as the value of a list attribute.
std::vector<std::int64_t> without_batch(const Shape& shape);
/// The index of the channel dimension: 1 for images (rank 4), otherwise the last one.
std::size_t channel_dim(const Shape& shape);

/// The elements [begin, begin + len) of one axis of a tensor.
struct SliceRange {
  std::size_t axis;    ///< index of the dimension; 0 is the batch
  std::int64_t begin;  ///< index of the first element, from 0
  std::int64_t len;    ///< number of elements
};
/// The part of data input 0 that a `slice` node selects. A negative `start`, and an `end` of 0 or below, count from the
/// end of the axis. Errors: kInvalidArgument for an axis or elements that the input lacks, or for no elements.
Result<SliceRange> slice_range(const OpArgs& args);

/// The output {height, width} of `upsample` (the input times `factor`, if that is set) or `resize` (`out`). Errors:
/// kInvalidArgument for a list that has not one or two elements, or a side above 2^20.
Result<std::pair<std::int64_t, std::int64_t>> resized(const OpArgs& args);

/// Returns those attributes of `from` that are set and have a name in `names`. A gradient operator copies them.
Attrs selected_attrs(const Attrs& from, const std::vector<std::string_view>& names);

/// Returns a cost of `flops` FLOPs for one sample, with the bytes of inputs, outputs and parameters at 4 bytes an
/// element.
Cost cost_of(const OpArgs& args, double flops);
/// Returns a cost rule with `per_element` FLOPs for each element of output 0 of one sample, and bytes as in cost_of().
std::function<Cost(const OpArgs&)> elementwise_cost(double per_element);
/// Cost rule (OpDef::cost): one FLOP for each element of data input 0 of one sample, and bytes as in cost_of().
Cost cost_of_sum(const OpArgs& args);

/// Inference rule (OpDef::infer): one real input, and one output of the same shape.
Result<std::vector<ValueType>> infer_same(const OpArgs& args);
/// Inference rule (OpDef::infer): real inputs of one shape, and one output of that shape.
Result<std::vector<ValueType>> infer_all_equal(const OpArgs& args);

/// The forward value that the gradient of an element-wise operator reads, together with the output gradient.
enum class SavedValue { kInput, kOutput };
/// Adds a gradient rule and the step operator "<name>_grad" to the definition of an operator with one input.
///
/// The step operator reads the saved value and the output gradient, and has the attributes of `def`. Call this function
/// last, when name and attributes of `def` are complete.
void add_elementwise_gradient(OpDef& def, SavedValue saved);

/// The attribute `input_size` of gradients of operators on images.
AttrSpec input_size();
/// Inference rule (OpDef::infer): from dy to an image of `input_size` with the same channels.
Result<std::vector<ValueType>> infer_of_input_size(const OpArgs& args);
/// Gradient rule (OpDef::gradient) of an operator that shrinks or enlarges its input. The step operator `op` reads the
/// output gradient, behind output 1 if `reads_index`. It has those attributes of the node with a name in `names`, and
/// the shape of data input 0 without the batch as `size`.
std::function<void(GradientContext&)> sized_gradient(std::string op, std::vector<std::string> names,
                                                     std::string size = "input_size", bool reads_index = false);

/// Facts of an operator that keeps zeros, means and signs of its inputs.
inline constexpr ValueFacts keeping(UnitFlow units) {
  return {.units = units, .sign = SignRule::kAsInputs, .preserves_zero = true, .preserves_mean = true};
}

/// Defines an activation. All its attributes are real numbers. Its units flow as UnitFlow::kAll, whatever `facts` has.
OpDef activation(std::string name, std::string help, double flops_per_element, SavedValue saved, ValueFacts facts,
                 ExportForms exports, std::vector<AttrSpec> attrs = {});

/// Adds the definitions of `input` and `output` to the table. Errors: kAlreadyExists for a name in the table.
Result<void> add_source_ops(OpTable& table);
/// Adds the definitions of `linear` and `matmul`. Errors: kAlreadyExists.
Result<void> add_linear_ops(OpTable& table);
/// Adds the definitions of convolutions of images. Errors: kAlreadyExists.
Result<void> add_conv_ops(OpTable& table);
/// Adds the definitions of normalisations. Errors: kAlreadyExists.
Result<void> add_norm_ops(OpTable& table);
/// Adds the definitions of `relu`, smooth activations, `identity`, `zero`, `softmax` and `dropout`. Errors:
/// kAlreadyExists.
Result<void> add_activation_ops(OpTable& table);
/// Adds the definitions of pooling operators of images and sequences. Errors: kAlreadyExists.
Result<void> add_pool_ops(OpTable& table);
/// Adds the definitions of `flatten`, `reshape`, `transpose`, `pad`, `slice` and `mean`. Errors: kAlreadyExists.
Result<void> add_shape_ops(OpTable& table);
/// Adds the definitions of operators that join several inputs. Errors: kAlreadyExists.
Result<void> add_combine_ops(OpTable& table);
/// Adds the definitions of activations that are defined by pieces, such as `leaky_relu`, `elu`, `relu6` and
/// `hard_swish`. Errors: kAlreadyExists.
Result<void> add_piecewise_ops(OpTable& table);
/// Adds the definitions of operators that scale, permute or normalise channels. Errors: kAlreadyExists.
Result<void> add_channel_ops(OpTable& table);
/// Adds the definitions of `resize` and `upsample`. Errors: kAlreadyExists.
Result<void> add_resize_ops(OpTable& table);
/// Adds the definition of convolution of sequences, which decomposes to that of images. The table must have those of
/// add_conv_ops(). Errors: kAlreadyExists.
Result<void> add_window1d_ops(OpTable& table);
/// Adds the definitions of operators of token sequences. Errors: kAlreadyExists.
Result<void> add_sequence_ops(OpTable& table);

}  // namespace lanista::graph::ops
