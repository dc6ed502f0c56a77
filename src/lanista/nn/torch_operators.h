#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lanista/graph/op.h"
#include "lanista/graph/ops/window.h"

// Operators of models in LibTorch's words, for the oracle.
namespace lanista::nn::testing {

using TorchParam = std::function<at::Tensor(const std::string&)>;  ///< by name; undefined where there is none

/// LibTorch pads both sides alike; this pads as `pads` says.
at::Tensor torch_padded(const at::Tensor& x, const graph::ops::Pads& pads, double value);

/// Pools, one-dimensional and transposed convolutions, images of another size; nothing for other operators.
std::optional<at::Tensor> torch_window(const std::string& op, const graph::OpArgs& args,
                                       const std::vector<at::Tensor>& x, const TorchParam& param);
/// Piecewise activations, differences and quotients, slices, and what works along the channels.
std::optional<at::Tensor> torch_elementwise(const std::string& op, const graph::OpArgs& args,
                                            const std::vector<at::Tensor>& x);

}  // namespace lanista::nn::testing
