#pragma once

#include <torch/torch.h>

#include <functional>
#include <string>
#include <vector>

#include "lanista/base/tensor.h"

namespace lanista::bench {

/// Training written by hand against LibTorch: the baseline. Parameters in the order of our state.
class TorchLoop {
 public:
  using Forward = std::function<at::Tensor(const std::vector<at::Tensor>& params, const at::Tensor& x)>;
  TorchLoop(Forward forward, const std::vector<Tensor>& params, bool channels_last);

  /// One momentum-SGD step; returns the mean loss.
  double step(const at::Tensor& x, const at::Tensor& labels, double lr, double momentum);

 private:
  Forward forward_;
  std::vector<at::Tensor> params_, momenta_;
};

/// Forward functions of the built-in bases.
TorchLoop::Forward torch_small_mlp();
TorchLoop::Forward torch_small_cnn();

}  // namespace lanista::bench
