#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lanista::graph {

/// The symbolic batch dimension; it may stand only in front.
inline constexpr std::int64_t kBatch = -1;

/// Dimensions in logical order: [N, C, H, W] for images, [N, features], [N, T, D] for sequences.
struct Shape {
  std::vector<std::int64_t> dims;

  std::size_t rank() const { return dims.size(); }
  bool has_batch() const { return !dims.empty() && dims.front() == kBatch; }
  /// Product of all dimensions but the batch.
  std::int64_t elements_per_sample() const;
  /// All elements when the batch is `batch`.
  std::int64_t elements(std::int64_t batch) const;
  /// "[N, 64]"
  std::string text() const;
  bool operator==(const Shape&) const = default;
};

/// Element kinds: the program's real type (float or double), 32-bit class or token numbers, 8-bit window indices.
enum class DType { kReal, kIndex, kByte };

struct ValueType {
  Shape shape;
  DType dtype = DType::kReal;
  bool operator==(const ValueType&) const = default;
};

}  // namespace lanista::graph
