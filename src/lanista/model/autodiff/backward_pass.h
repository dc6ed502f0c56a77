#pragma once

#include <map>
#include <set>
#include <vector>

#include "lanista/model/autodiff/forward_lowering.h"

namespace lanista::step {

/// Reverse accumulation over the recorded forward nodes (Griewank and Walther, Evaluating Derivatives, ch. 3): every
/// node that something trained lies upstream of gets its gradient rule called once, users before producers.
class BackwardPass {
 public:
  BackwardPass(StepBuilder& builder, ForwardLowering& forward);

  /// Does anything trained lie upstream of this value, with a gradient rule at every node between?
  bool needs_grad(graph::Port value) const { return value.slot == 0 && differentiable_.contains(value.node); }
  /// One summand of the gradient of `value`, which arose at `use`. Refuses another type than the value's.
  void add_gradient(graph::Port value, graph::Use use, graph::Port gradient);
  /// Calls the rules. Afterwards `parameter_gradient` holds one port for each parameter that is reached.
  Result<void> run();
  const std::map<graph::NodeId, graph::Port>& parameter_gradient() const { return parameter_gradient_; }

 private:
  std::optional<graph::Port> total(graph::Port value, graph::NodeId origin);

  StepBuilder& builder_;
  ForwardLowering& forward_;
  std::set<graph::NodeId> differentiable_;
  std::map<graph::Port, std::map<graph::Use, graph::Port>> summands_;  // ordered by use, so sums have one order
  std::map<graph::NodeId, graph::Port> parameter_gradient_;
};

}  // namespace lanista::step
