#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/op.h"

// What the definitions of operators are written with; rooms that add operators of their own may use it too.
namespace lanista::graph::ops {

/// Most elements of one value per sample, and of one parameter.
inline constexpr std::int64_t kMaxValueElements = 0x7fffffff;

/// kInvalidArgument; whoever walks the graph adds node and operator.
Error shape_error(std::string message);

// Attribute specifications.
AttrSpec required_int(std::string name, std::int64_t min, AttrRole role, std::string help);
AttrSpec optional_int(std::string name, std::int64_t value, std::int64_t min, AttrRole role, std::string help);
AttrSpec required_list(std::string name, std::int64_t min, AttrRole role, std::string help);
AttrSpec optional_list(std::string name, std::vector<std::int64_t> value, std::int64_t min, AttrRole role,
                       std::string help);
AttrSpec optional_real(std::string name, double value, AttrRole role, std::string help);
AttrSpec one_of(std::string name, std::vector<std::string> allowed, std::string help);  ///< the first is the default
AttrSpec optional_flag(std::string name, bool value, std::string help);
AttrSpec derived(std::string name, std::string help);

/// One output of element kind `dtype`. Errors: a value of more than kMaxValueElements elements per sample.
Result<std::vector<ValueType>> value(Shape shape, DType dtype = DType::kReal);
/// Several outputs, checked in the same way.
Result<std::vector<ValueType>> values(std::vector<ValueType> types);

/// Errors: input `i` holds no real numbers, or has no batch dimension.
Result<void> require_real(const OpArgs& args, std::size_t i = 0);
/// Errors: as require_real for all inputs, or their shapes differ.
Result<void> require_same_shapes(const OpArgs& args);
/// Errors: as require_real, or input `i` is not [N, C, H, W].
Result<void> require_image(const OpArgs& args, std::size_t i = 0);
/// Errors: input `i` is not exactly this, called `what` in the message.
Result<void> require_type(const OpArgs& args, std::size_t i, const ValueType& type, std::string_view what);
/// Errors: a parameter with more than kMaxValueElements elements.
Result<void> require_valid_params(const std::vector<ParamSpec>& params);

/// Shape of data input `i`.
const Shape& shape_of(const OpArgs& args, std::size_t i = 0);
/// "[N, 3, 8, 8]" of input `i`, for messages.
std::string shape_text(const OpArgs& args, std::size_t i = 0);
/// "3x5"
std::string size_pair_text(std::int64_t a, std::int64_t b);
/// A shape without batch from a list attribute; `batched` puts the batch in front.
Shape unbatched(std::vector<std::int64_t> dims);
Shape batched(std::vector<std::int64_t> dims);
/// All dimensions but the batch, as an attribute.
std::vector<std::int64_t> without_batch(const Shape& shape);
/// Dimension that holds the channels: 1 for images, else the last one.
std::size_t channel_dim(const Shape& shape);

/// Elements [begin, begin + len) of a logical axis.
struct SliceRange {
  std::size_t axis;
  std::int64_t begin, len;
};
/// What a slice of data input 0 takes. Errors: no such axis, or elements that it does not have.
Result<SliceRange> slice_range(const OpArgs& args);

/// Height and width of what `resize` or `upsample` gives. Errors: above 2^20 a side.
Result<std::pair<std::int64_t, std::int64_t>> resized(const OpArgs& args);

/// The written attributes among `names`: what a gradient operator takes over from its forward operator.
Attrs selected_attrs(const Attrs& from, std::initializer_list<std::string_view> names);

/// Cost with this many operations and the traffic of inputs, outputs and parameters in single precision.
Cost cost_of(const OpArgs& args, double flops);
/// A cost rule: `per_element` operations for each element of output 0.
std::function<Cost(const OpArgs&)> elementwise_cost(double per_element);

// Inference rules shared by many operators.
Result<std::vector<ValueType>> infer_same(const OpArgs& args);       ///< one real input, the same out
Result<std::vector<ValueType>> infer_all_equal(const OpArgs& args);  ///< equal real inputs, the same out

/// What the gradient of an element-wise operator looks at beside dy.
enum class SavedValue { kInput, kOutput };
/// Gives an operator of one input its gradient: by an operator "<name>_grad" of the same attributes over the saved
/// value and dy, which comes along. Call it when the rest of the definition stands.
void add_elementwise_gradient(OpDef& def, SavedValue saved);

// The shipped operators by theme.
Result<void> add_source_ops(OpTable& table);
Result<void> add_linear_ops(OpTable& table);
Result<void> add_conv_ops(OpTable& table);
Result<void> add_norm_ops(OpTable& table);
Result<void> add_activation_ops(OpTable& table);
Result<void> add_pool_ops(OpTable& table);
Result<void> add_shape_ops(OpTable& table);
Result<void> add_combine_ops(OpTable& table);
Result<void> add_piecewise_ops(OpTable& table);
Result<void> add_channel_ops(OpTable& table);
Result<void> add_resize_ops(OpTable& table);
Result<void> add_window1d_ops(OpTable& table);  ///< on top of conv2d and the pools
Result<void> add_sequence_ops(OpTable& table);

}  // namespace lanista::graph::ops
