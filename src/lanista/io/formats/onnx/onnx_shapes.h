#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"

// What ONNX operators do with the shapes of constants and of values with the batch as first size.
namespace lanista::formats::onnx {

using List = std::vector<std::int64_t>;  ///< integers or sizes

/// The batch size among numbers that are computed from shapes. Arithmetic on it gives no size.
inline constexpr std::int64_t kUnknownBatch = std::numeric_limits<std::int64_t>::min();

/// Sizes as a text for messages, with the batch as N.
std::string sizes_text(const List& sizes);

/// The product of sizes.
inline std::int64_t product(const List& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

/// The index of an axis; a negative one counts from the end. Errors: kDataLoss.
Result<std::size_t> axis_of(std::int64_t axis, std::size_t rank);
/// The axis at which Flatten splits the axes: 0 to rank; a negative one counts from the end. Errors: kDataLoss.
Result<std::size_t> flatten_axis(std::int64_t axis, std::size_t rank);
/// The shape with sizes of one at the axes that Unsqueeze names. Errors: kDataLoss.
Result<List> unsqueezed(const List& dims, List axes);
/// The shape without sizes of one: all of them, or those at `axes`. Errors: kDataLoss.
Result<List> squeezed(const List& dims, const std::optional<List>& axes);
/// The shape that Reshape gives a constant. Errors: kInvalidArgument.
Result<List> reshaped(const List& target, const List& dims);
/// The shape that Reshape gives a value [batch, ...], without the batch, which must stay first. `batch` is the fixed
/// batch size, or -1. With `literal` a zero is a size and does not copy one. Errors: kInvalidArgument; kUnimplemented
/// if the batch does not stay first.
Result<List> reshaped_sample(const List& target, const List& dims, std::int64_t batch, bool literal = false);
/// The common shape of two values. Errors: kDataLoss.
Result<List> broadcast_shape(const List& a, const List& b);

/// The elements that Slice selects along one axis.
struct SliceAxis {
  std::size_t axis = 0;                         ///< index of the axis
  std::int64_t begin = 0, step = 1, count = 0;  ///< first element, distance and number of elements
};
/// Reads the inputs of Slice for a value with dimensions `dims`. Errors: kDataLoss.
Result<std::vector<SliceAxis>> slice_axes(const List& starts, const List& ends, const std::optional<List>& axes,
                                          const std::optional<List>& steps, const List& dims);

/// Integers as a constant with one dimension.
Tensor tensor_of_integers(const List& numbers);
/// The integers of a tensor of int64 or int32. Errors: kDataLoss.
Result<List> integers_of(const Tensor& tensor);

/// The tensor with its dimensions in another order; axes as in Transpose.
Tensor transposed(const Tensor& tensor, const List& axes);

/// Strides of a shape that is broadcast to a larger one: 0 along axes on which one element serves all.
std::vector<std::size_t> broadcast_strides(const List& dims, const List& to);

/// Calls `visit` with the offsets of the elements of `a` and `b` that belong together, row by row of `shape`, to which
/// both are broadcast.
template <class Visit>
void for_each_broadcast(const List& a, const List& b, const List& shape, Visit&& visit) {
  const std::vector<std::size_t> a_strides = broadcast_strides(a, shape), b_strides = broadcast_strides(b, shape);
  List at(shape.size(), 0);
  std::size_t i = 0, k = 0;
  for (bool more = true; more;) {
    visit(i, k);
    more = false;
    for (std::size_t axis = shape.size(); axis-- > 0 && !more;) {
      i += a_strides[axis];
      k += b_strides[axis];
      more = ++at[axis] < shape[axis];
      if (more) break;
      i -= a_strides[axis] * static_cast<std::size_t>(shape[axis]);
      k -= b_strides[axis] * static_cast<std::size_t>(shape[axis]);
      at[axis] = 0;
    }
  }
}

}  // namespace lanista::formats::onnx
