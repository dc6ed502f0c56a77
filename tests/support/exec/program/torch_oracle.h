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

namespace lanista::nn::testing {

using Tensors = std::map<std::string, at::Tensor>;

/// An optimiser as LibTorch has it, or as its paper defines it.
class OracleOptimizer {
 public:
  virtual ~OracleOptimizer() = default;
  /// Moves the parameters by their gradients; those without a gradient stay.
  virtual void step(const LaneHyper& hyper) = 0;
  /// What it keeps for a parameter, by slot; nothing where no gradient has come yet.
  virtual Tensors slots(const at::Tensor& parameter) const = 0;
};

/// A model graph interpreted with LibTorch: operators of torch_operators.h, autograd, LibTorch's own losses, optimisers
/// and clipping. What programs are compared with.
class TorchModel {
 public:
  /// Starts from the state of a lane, for steps a fresh one; every real tensor is taken as `dtype`.
  TorchModel(const Derived& derived, const std::vector<Tensor>& state, at::ScalarType dtype);

  /// From now on every value and every parameter carries a relative error of up to `size`, uniform: what rounding may
  /// do to the results is seen from their distance to the undisturbed ones.
  void disturb(double size, std::uint64_t seed);
  /// An attribute that the lane sets for itself (nn::LaneAttr).
  void set_number(graph::NodeId node, const std::string& attr, double value) { numbers_[{node, attr}] = value; }

  /// Mean loss of a batch in training form, each sample's times its weight where there are any; buffers advance.
  at::Tensor loss(const OwnedBatch& batch, const LaneHyper& hyper);
  /// Predictions in inference form.
  at::Tensor predict(const OwnedBatch& batch);
  /// One training step; returns the loss before it.
  double step(const OwnedBatch& batch, const LaneHyper& hyper);
  /// Gradients of all parameters, undefined where none arrives; buffers advance.
  Tensors gradients(const OwnedBatch& batch, const LaneHyper& hyper);

  /// Parameters, buffers and slots, named as in extract(); slots that no gradient has reached are missing.
  Tensors state() const;
  /// Another value for a parameter or buffer, of its shape.
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
  step::StepOptions options_;
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

}  // namespace lanista::nn::testing
