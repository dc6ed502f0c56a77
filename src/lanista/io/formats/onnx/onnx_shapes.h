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

// What ONNX's operators do with shapes, of constants and of values whose first size is the batch.
namespace lanista::formats::onnx {

using List = std::vector<std::int64_t>;

/// The size of the batch among numbers that are computed from shapes; any arithmetic on it gives no size.
inline constexpr std::int64_t kUnknownBatch = std::numeric_limits<std::int64_t>::min();

/// Sizes for a message, the batch as N.
std::string sizes_text(const List& sizes);

inline std::int64_t product(const List& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

/// The place of an axis that may count from the end. Errors: kDataLoss.
Result<std::size_t> axis_of(std::int64_t axis, std::size_t rank);
/// Where Flatten parts the axes: 0 to rank, or from the end. Errors: kDataLoss.
Result<std::size_t> flatten_axis(std::int64_t axis, std::size_t rank);
/// Sizes one at the axes that Unsqueeze names. Errors: kDataLoss.
Result<List> unsqueezed(const List& dims, List axes);
/// Without sizes one, all or those named. Errors: kDataLoss.
Result<List> squeezed(const List& dims, const std::optional<List>& axes);
/// What Reshape makes of a constant. Errors: kInvalidArgument.
Result<List> reshaped(const List& target, const List& dims);
/// What Reshape makes of a value [batch, ...] if the batch stays in front: the sizes behind it. `batch` is the size
/// that the file fixes for it, or -1. `literal`: zeros are no "as it is". Errors: kInvalidArgument; kUnimplemented if
/// the batch does not stay.
Result<List> reshaped_sample(const List& target, const List& dims, std::int64_t batch, bool literal = false);
/// The common shape of two. Errors: kDataLoss.
Result<List> broadcast_shape(const List& a, const List& b);

/// Elements that Slice takes along one axis.
struct SliceAxis {
  std::size_t axis = 0;
  std::int64_t begin = 0, step = 1, count = 0;
};
/// Errors: kDataLoss.
Result<std::vector<SliceAxis>> slice_axes(const List& starts, const List& ends, const std::optional<List>& axes,
                                          const std::optional<List>& steps, const List& dims);

/// A list as a constant.
Tensor tensor_of_integers(const List& numbers);
/// The integers of a tensor of int64 or int32. Errors: kDataLoss.
Result<List> integers_of(const Tensor& tensor);

/// Dimensions in another order; axes as in Transpose.
Tensor transposed(const Tensor& tensor, const List& axes);

/// Strides of a shape inside a larger one that it is stretched to: 0 where one element serves all.
std::vector<std::size_t> broadcast_strides(const List& dims, const List& to);

/// Hands the offsets of the elements of `a` and `b` that meet to `visit`, row by row of `shape`, which both stretch to.
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
