#pragma once

#include <torch/torch.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/exec/program/program.h"
#include "support/exec/program/test_models.h"

namespace lanista::program::testing {

using Tensors = std::map<std::string, at::Tensor>;

/// An optimiser of LibTorch, or one defined by its paper.
class OracleOptimizer {
 public:
  virtual ~OracleOptimizer() = default;
  /// Moves the parameters by their gradients; those without a gradient stay.
  virtual void step(const LaneHyper& hyper) = 0;
  /// State of a parameter, by slot; empty before the first gradient.
  virtual Tensors slots(const at::Tensor& parameter) const = 0;
};

/// A model graph interpreted with LibTorch: operators of torch_operators.h, autograd, and LibTorch's losses, optimisers
/// and clipping. Tests compare programs with it.
class TorchModel {
 public:
  /// Starts from the state of a lane, with fresh steps. Every real tensor is converted to `dtype`.
  TorchModel(const Derived& derived, const std::vector<Tensor>& state, at::ScalarType dtype);

  /// From now on, every value and parameter has a uniform relative error of up to `size`. The distance to the
  /// undisturbed results shows the effect of rounding.
  void disturb(double size, std::uint64_t seed);
  /// Sets an attribute of the lane (program::LaneAttr).
  void set_number(graph::NodeId node, const std::string& attr, double value) { numbers_[{node, attr}] = value; }

  /// Mean loss of a batch in training form, with the sample weights if there are any. Buffers advance.
  at::Tensor loss(const OwnedBatch& batch, const LaneHyper& hyper);
  /// Predictions in inference form.
  at::Tensor predict(const OwnedBatch& batch);
  /// One training step; returns the loss before it.
  double step(const OwnedBatch& batch, const LaneHyper& hyper);
  /// Gradients of all parameters, undefined if there is none. Buffers advance.
  Tensors gradients(const OwnedBatch& batch, const LaneHyper& hyper);

  /// Parameters, buffers and slots, named as in extract(). Slots without a gradient so far are missing.
  Tensors state() const;
  /// Replaces the value of a parameter or buffer by one of the same shape.
  void set(const std::string& name, const at::Tensor& value);

 private:
  using Values = std::map<graph::Port, at::Tensor>;

  at::Tensor forward(const OwnedBatch& batch, bool training);
  std::vector<at::Tensor> apply(const graph::Node& node, const Values& values, const OwnedBatch& batch, bool training);
  at::Tensor features(const graph::Node& input, const OwnedBatch& batch) const;
  at::Tensor mask(const graph::Node& node, double p, const at::Tensor& x, const OwnedBatch& batch) const;
  at::Tensor rounded(const at::Tensor& value);
  void backward(const at::Tensor& loss);
  std::vector<at::Tensor> parameters() const;

  graph::Graph model_;
  autodiff::StepOptions options_;
  at::ScalarType dtype_;
  const graph::OpTable& ops_;
  Tensors tensors_;                   // parameters and buffers
  std::vector<std::string> trained_;  // those of them that are parameters
  std::map<std::pair<graph::NodeId, std::string>, double> numbers_;
  std::unique_ptr<OracleOptimizer> optimizer_;
  double disturbance_ = 0;
  Rng noise_;
  std::int64_t step_ = 0, steps_here_ = 0;
  std::uint64_t seed_ = 0;
};

/// A tensor of a lane's state.
at::Tensor to_torch(const Tensor& tensor);

/// max |a - b| / max |b|: scaled by the tensor, so that single small elements do not count alone. Infinite if only one
/// of them is NaN; `least` is the smallest scale.
double scaled_error(const at::Tensor& a, const at::Tensor& b, double least = 1e-3);

}  // namespace lanista::program::testing
