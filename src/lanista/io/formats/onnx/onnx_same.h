#pragma once

#include <span>

namespace lanista::formats::onnx {

/// An operator that ONNX and lanista have in the same form: equal inputs, all computed, and no attributes.
struct SameOperator {
  const char* onnx;  ///< its name in ONNX
  const char* ours;  ///< its name in lanista
};
/// All such operators.
std::span<const SameOperator> same_operators();

}  // namespace lanista::formats::onnx
