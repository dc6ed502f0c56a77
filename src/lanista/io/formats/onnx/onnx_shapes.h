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

/// A list of integers or of sizes, such as the dimensions of a shape.
using List = std::vector<std::int64_t>;

/// The number that represents an unknown batch size among integers that are computed from shapes. The numbers after it
/// are its multiples.
inline constexpr std::int64_t kUnknownBatch = std::numeric_limits<std::int64_t>::min() / 2;
/// The largest multiple of an unknown batch.
inline constexpr std::int64_t kMostBatches = std::int64_t{1} << 48;
/// The number that represents `factor` times an unknown batch. Precondition: factor is 1 to kMostBatches.
inline std::int64_t batch_times(std::int64_t factor) { return kUnknownBatch + factor - 1; }
/// True means that the number represents a multiple of an unknown batch.
inline bool is_batch(std::int64_t size) { return size >= kUnknownBatch && size < kUnknownBatch + kMostBatches; }
/// The factor of a multiple of an unknown batch.
inline std::int64_t batch_factor(std::int64_t size) { return size - kUnknownBatch + 1; }

/// Sizes as text for messages, with the batch as N: "[N, 3, 8]".
std::string sizes_text(const List& sizes);

/// The product of sizes; 1 for none. It may overflow.
inline std::int64_t product(const List& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

/// The index of an axis from 0; a negative `axis` counts from the end. Errors: kDataLoss (outside -rank to rank - 1).
Result<std::size_t> axis_of(std::int64_t axis, std::size_t rank);
/// The number of axes, 0 to rank, in the first group of Flatten; a negative `axis` counts from the end. Errors:
/// kDataLoss (outside -rank to rank).
Result<std::size_t> flatten_axis(std::int64_t axis, std::size_t rank);
/// The dimensions after Unsqueeze, with 1 at `axes` of the result. Errors: kDataLoss (an axis that does not exist or
/// occurs twice, more than 64 dimensions).
Result<List> unsqueezed(const List& dims, List axes);
/// The dimensions after Squeeze: without every 1, or without those at `axes`. Errors: kDataLoss (an axis that does not
/// exist or is not 1).
Result<List> squeezed(const List& dims, const std::optional<List>& axes);
/// The dimensions of a constant of dimensions `dims` after Reshape to `target`: 0 copies a dimension, -1 is computed.
/// Errors: kInvalidArgument (another number of elements).
Result<List> reshaped(const List& target, const List& dims);
/// The dimensions, without the batch, of a value [batch, ...] of dimensions `dims` after Reshape to `target`. `batch`
/// is the fixed batch size, or -1. With `literal` a zero is a size; else it copies one. Errors: kInvalidArgument
/// (another number of elements); kUnimplemented (the batch does not stay first, or nothing follows it).
Result<List> reshaped_sample(const List& target, const List& dims, std::int64_t batch, bool literal = false);
/// The shape to which two shapes are broadcast by the rules of ONNX. Errors: kDataLoss (they do not fit).
Result<List> broadcast_shape(const List& a, const List& b);

/// The elements that Slice selects along one axis.
struct SliceAxis {
  std::size_t axis = 0;                         ///< index of the axis, from 0
  std::int64_t begin = 0, step = 1, count = 0;  ///< first element, distance and number of elements
};
/// The elements that Slice with these inputs selects from a value with dimensions `dims`, one entry for each sliced
/// axis. Without `axes` they are the first ones; without `steps` all are 1. Errors: kDataLoss (invalid inputs).
Result<std::vector<SliceAxis>> slice_axes(const List& starts, const List& ends, const std::optional<List>& axes,
                                          const std::optional<List>& steps, const List& dims);

/// An int64 tensor of one dimension with these integers, for shapes and axes in ONNX models.
Tensor tensor_of_integers(const List& numbers);
/// The elements of a tensor of int64 or int32. Errors: kDataLoss (another element type).
Result<List> integers_of(const Tensor& tensor);

/// A copy with dimensions in another order: dimension i of the result is dimension axes[i] of `tensor`, as in
/// Transpose.
Tensor transposed(const Tensor& tensor, const List& axes);

/// For each axis of shape `to`, the stride in elements of an array of shape `dims` that is broadcast to it; 0 along
/// broadcast axes. Precondition: `dims` fits `to`.
std::vector<std::size_t> broadcast_strides(const List& dims, const List& to);

/// Calls visit(i, k) for each element of `shape` in row-major order. The indices i and k are those of the element in
/// arrays of shapes `a` and `b`, which are broadcast to `shape`. Precondition: `shape` has no dimension 0.
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
