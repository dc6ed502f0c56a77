#pragma once

#include <span>

namespace lanista::formats::onnx {

/// An operator with equal inputs and no attributes in ONNX and lanista, which differs at most in its name.
struct SameOperator {
  const char* onnx;  ///< name in ONNX: "Relu"
  const char* ours;  ///< name in lanista: "relu"
};
/// All such operators. The span points to constants.
std::span<const SameOperator> same_operators();

}  // namespace lanista::formats::onnx
