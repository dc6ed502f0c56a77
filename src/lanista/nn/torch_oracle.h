#pragma once

#include <torch/torch.h>

#include <map>
#include <string>
#include <vector>

#include "lanista/nn/program.h"
#include "lanista/nn/test_models.h"

namespace lanista::nn::testing {

using Tensors = std::map<std::string, at::Tensor>;

/// A model graph interpreted with LibTorch operators in float64 or float32: what programs are compared with.
class TorchModel {
 public:
  /// Starts from the state of a lane; every real tensor is taken as `dtype`.
  TorchModel(const Derived& derived, const std::vector<Tensor>& state, at::ScalarType dtype);

  /// Mean loss of a batch in training form; buffers advance.
  at::Tensor loss(const OwnedBatch& batch, const LaneHyper& hyper);
  /// Predictions in inference form.
  at::Tensor predict(const OwnedBatch& batch);
  /// One training step with autograd and the textbook update formulas; returns the loss before it.
  double step(const OwnedBatch& batch, const LaneHyper& hyper);
  /// Gradients of all parameters, undefined where none arrives.
  Tensors gradients(const OwnedBatch& batch, const LaneHyper& hyper);

  /// Parameters, buffers and slots, named as in extract().
  const Tensors& state() const { return state_; }

 private:
  at::Tensor forward(const OwnedBatch& batch, bool training);
  at::Tensor apply(const graph::Node& node, const std::vector<at::Tensor>& x, const OwnedBatch& batch, bool training);
  at::Tensor mask(const graph::Node& node, double p, const at::Tensor& x, const OwnedBatch& batch) const;
  at::Tensor attention(const graph::Node& node, const at::Tensor& x, const OwnedBatch& batch, bool training) const;
  void update(const Tensors& gradients, const LaneHyper& hyper);

  const Derived& derived_;
  at::ScalarType dtype_;
  graph::OpTable ops_;
  Tensors state_;
  std::vector<std::string> trained_;
  std::int64_t step_ = 0;
  std::uint64_t seed_ = 0;
};

/// A tensor of a lane's state.
at::Tensor to_torch(const Tensor& tensor);

/// max |a - b| / max(1e-3, max |b|): scaled by the tensor, so that single small elements do not count alone.
double scaled_error(const at::Tensor& a, const at::Tensor& b);

}  // namespace lanista::nn::testing
