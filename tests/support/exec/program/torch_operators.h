#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lanista/model/graph/op.h"

namespace lanista::program::testing {

/// An operator call, as its LibTorch implementation sees it.
struct TorchCall {
  const graph::OpArgs& args;                                             ///< attributes; inputs have no types
  const std::vector<at::Tensor>& x;                                      ///< data inputs, canonical order
  const std::function<at::Tensor(const std::string&)>& param;            ///< parameter by name, or an undefined tensor
  const std::function<at::Tensor(const at::Tensor& x, double p)>& mask;  ///< mask of 0 or 1 / (1 - p), shaped as x
  /// Disturbs a value by one rounding; null without a disturbance. If set, norms are computed by their parts, since
  /// LibTorch's own norms round internally.
  const std::function<at::Tensor(const at::Tensor&)>& rounded;
  bool training;

  /// Two values from a list of one or two.
  std::vector<std::int64_t> pair(std::string_view name) const;
};

/// The values of all outputs. In training, buffers advance in place.
using TorchOperator = std::function<std::vector<at::Tensor>(const TorchCall&)>;

/// The definition of each operator of models in LibTorch calls, written from its documentation; `input` is separate. It
/// shares no code with the modules that it tests (autodiff, kernels, program).
const std::map<std::string, TorchOperator, std::less<>>& torch_operators();

}  // namespace lanista::program::testing
