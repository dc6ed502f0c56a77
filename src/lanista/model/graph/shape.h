#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lanista::graph {

/// The symbolic batch dimension. Only the first dimension of a shape may have this value.
inline constexpr std::int64_t kBatch = -1;

/// The dimensions of a tensor in logical order.
///
/// Images are [N, C, H, W], feature vectors [N, features], sequences [N, T, D]. N is the batch.
struct Shape {
  std::vector<std::int64_t> dims;  ///< sizes; kBatch in front if the tensor has a batch dimension

  std::size_t rank() const { return dims.size(); }
  /// Whether the first dimension is the batch.
  bool has_batch() const { return !dims.empty() && dims.front() == kBatch; }
  /// Product of all dimensions except the batch. It saturates at the largest 64-bit integer.
  std::int64_t elements_per_sample() const;
  /// Number of elements for `batch` samples. A shape without batch dimension ignores `batch`.
  std::int64_t elements(std::int64_t batch) const;
  /// The shape as text, such as "[N, 64]".
  std::string text() const;
  bool operator==(const Shape&) const = default;
};

/// Element type of a tensor.
enum class DType {
  kReal,   ///< the real type of the program: float or double
  kIndex,  ///< 32-bit class or token numbers
  kByte,   ///< 8-bit positions inside a pooling window
};

/// Shape and element type of one value of a graph.
struct ValueType {
  Shape shape;                 ///< dimensions, with the batch in front
  DType dtype = DType::kReal;  ///< element type
  bool operator==(const ValueType&) const = default;
};

}  // namespace lanista::graph
