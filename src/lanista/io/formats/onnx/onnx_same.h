#pragma once

#include <span>

namespace lanista::formats::onnx {

/// An operator that ONNX has just as we do: the same inputs, all computed, and no attributes. Written and read by name.
struct SameOperator {
  const char* onnx;
  const char* ours;
};
std::span<const SameOperator> same_operators();

}  // namespace lanista::formats::onnx
