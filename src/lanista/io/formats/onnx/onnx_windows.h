#pragma once

#include <cstdint>
#include <vector>

namespace lanista::formats::onnx {

/// Adaptive averaging of `size` cells to `out` cells as a matrix [out, size], or [size, out] if `transposed`,
/// row-major. Cell i is the mean over [floor(i size / out), ceil((i + 1) size / out)), as in PyTorch. ONNX has no such
/// operator.
std::vector<float> window_means(std::int64_t size, std::int64_t out, bool transposed);

}  // namespace lanista::formats::onnx
