#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lanista::graph {

/// The size that stands for the batch dimension. Only the first dimension of a shape may have this value.
inline constexpr std::int64_t kBatch = -1;

/// The dimensions of a tensor in PyTorch order, whatever the layout in memory is.
///
/// Images are [N, C, H, W], feature vectors [N, features], sequences [N, T, D]. N is the batch dimension.
struct Shape {
  std::vector<std::int64_t> dims;  ///< sizes; kBatch in front if the tensor has a batch dimension

  std::size_t rank() const { return dims.size(); }
  /// True if the first dimension is the batch dimension.
  bool has_batch() const { return !dims.empty() && dims.front() == kBatch; }
  /// Number of elements for one sample: the product of all sizes except the batch. At most the largest 64-bit integer.
  std::int64_t elements_per_sample() const;
  /// Number of elements for `batch` samples: elements_per_sample() times `batch`, or without the factor if there is no
  /// batch dimension. At most the largest 64-bit integer. A negative `batch` is a bug of the caller.
  std::int64_t elements(std::int64_t batch) const;
  /// The shape as text for messages, such as "[N, 64]"; N is the batch dimension.
  std::string text() const;
  bool operator==(const Shape&) const = default;
};

/// Element type of a tensor.
enum class DType {
  kReal,   ///< real numbers: float32 or float64, as the program computes
  kIndex,  ///< 32-bit integers: class or token numbers, from 0
  kByte,   ///< 8-bit integers: positions inside a pooling window, from 0
};

/// Shape and element type of one value of a graph.
struct ValueType {
  Shape shape;                 ///< dimensions; the batch dimension first, if there is one
  DType dtype = DType::kReal;  ///< element type
  bool operator==(const ValueType&) const = default;
};

}  // namespace lanista::graph
