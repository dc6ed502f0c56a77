#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/io/formats/onnx/onnx.h"

namespace lanista::formats::onnx {

/// Bytes that constants and weights may take; a file that uses one tensor often may not blow up.
struct ByteBudget {
  std::size_t bytes_left = 0;
  Result<void> spend(std::size_t bytes);
};

/// What a node makes of constants; nothing if it is none of the operators that exporters put between constants, or of
/// other types than they have there. An input that is left out is null. Elements follow ONNX: integers divide towards
/// zero, shapes broadcast. Errors: kDataLoss where the node breaks the operator's rules; kUnimplemented for integers
/// that overflow; kResourceExhausted.
Result<std::optional<Tensor>> fold_node(const OnnxNode& node, std::span<const Tensor* const> inputs, ByteBudget& budget);

}  // namespace lanista::formats::onnx
