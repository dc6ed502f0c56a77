#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/io/formats/onnx/onnx.h"

namespace lanista::formats::onnx {

/// The bytes that constants and weights of an import may still use, as a protection from files that use one tensor many
/// times.
struct ByteBudget {
  std::size_t bytes_left = 0;             ///< number of bytes that are left
  Result<void> spend(std::size_t bytes);  ///< subtracts `bytes`; errors: kResourceExhausted (fewer are left)
};

/// The first output of a node with constant inputs, or none if it cannot be computed here.
///
/// None if exporters do not use the operator on constants, if it has several outputs or unusual types, or if the first
/// input is absent. An absent input is null in `inputs`. The bytes of the result are subtracted from `budget`. The
/// arithmetic follows ONNX: integers divide towards zero, shapes broadcast. Errors: kDataLoss where the node breaks a
/// rule of its operator; kInvalidArgument for a Reshape to another number of elements; kUnimplemented for numbers that
/// overflow, and a Range without an end; kResourceExhausted.
Result<std::optional<Tensor>> fold_node(const OnnxNode& node, std::span<const Tensor* const> inputs,
                                        ByteBudget& budget);

}  // namespace lanista::formats::onnx
