#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/io/formats/onnx/onnx.h"

namespace lanista::formats::onnx {

/// Bytes that constants and weights may still use. It limits files that use one tensor many times.
struct ByteBudget {
  std::size_t bytes_left = 0;             ///< what is left
  Result<void> spend(std::size_t bytes);  ///< subtracts; errors: kResourceExhausted
};

/// The result of a node with constant inputs.
///
/// None if the operator is not one that exporters use on constants, or if it has unusual types. An absent input is
/// null. The arithmetic follows ONNX: integers divide towards zero, shapes broadcast. Errors: kDataLoss where the node
/// breaks a rule of its operator; kUnimplemented for integers that overflow; kResourceExhausted.
Result<std::optional<Tensor>> fold_node(const OnnxNode& node, std::span<const Tensor* const> inputs,
                                        ByteBudget& budget);

}  // namespace lanista::formats::onnx
