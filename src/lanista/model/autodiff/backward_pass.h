#pragma once

#include <map>
#include <set>
#include <vector>

#include "lanista/model/autodiff/forward_lowering.h"

namespace lanista::autodiff {

/// Adds the backward pass to a step graph by reverse accumulation over the nodes of the forward pass.
///
/// It calls the gradient rule of a node once if a gradient reaches the node and it depends on a trained parameter,
/// users before producers. Source: Griewank and Walther, Evaluating Derivatives, chapter 3.
class BackwardPass {
 public:
  /// Finds the nodes that need a gradient. `forward` has all its nodes. `builder` and `forward` must live as long as
  /// the pass.
  BackwardPass(StepBuilder& builder, ForwardLowering& forward);

  /// True if a value is output 0 of a node and depends on a trained parameter through nodes that all have a gradient
  /// rule.
  bool needs_grad(graph::Port value) const { return value.slot == 0 && differentiable_.contains(value.node); }
  /// Adds one summand to the gradient of `value`; the gradient rule of the node that reads `value` at `use` computed
  /// it. A summand of another type is an error, which the builder keeps. A value that needs no gradient is ignored. A
  /// second summand for one use is a bug.
  void add_gradient(graph::Port value, graph::Use use, graph::Port gradient);
  /// Calls the gradient rules and sums the gradients. Call it once, after add_gradient() for the prediction. Errors:
  /// the first error of the builder.
  Result<void> run();
  /// After run(): the gradient of the loss for each `parameter` node that a gradient reaches. Others are absent.
  const std::map<graph::NodeId, graph::Port>& parameter_gradient() const { return parameter_gradient_; }

 private:
  std::optional<graph::Port> total(graph::Port value, graph::NodeId origin);

  StepBuilder& builder_;
  ForwardLowering& forward_;
  std::set<graph::NodeId> differentiable_;
  std::map<graph::Port, std::map<graph::Use, graph::Port>> summands_;  // by value, then use, which orders the sum
  std::map<graph::NodeId, graph::Port> parameter_gradient_;
};

}  // namespace lanista::autodiff
