#pragma once

#include <cstdint>
#include <vector>

#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/layout.h"
#include "lanista/model/graph/shape.h"

namespace lanista::program {

/// A mean over some axes as prepared steps: a chain of means, each over one run of neighbouring memory axes, in
/// ascending memory order. A copy follows if the remaining axes change their order. The gradient is the reverse chain.
class MeanPlan {
 public:
  /// `x` is the shape of the input, with the batch as axis 0. `axes` are indices of its logical axes, never the batch;
  /// negative ones count from the end. `y` is the shape of the mean, in which reduced axes are missing or have size
  /// one.
  MeanPlan(const graph::Shape& x, const std::vector<std::int64_t>& axes, const graph::Shape& y);

  /// Elements of the scratch memory that mean() and gradient() need for at most `max_batch` samples.
  std::int64_t scratch(std::int64_t max_batch) const { return 2 * buffer_elements(max_batch); }

  /// The means of the chain in order, for backends that run it themselves.
  const std::vector<AxisView>& stages() const { return stages_; }
  /// The copy after the means, from the last mean to the mean `y`; an identity if no axes change their order.
  const Reorder& final_reorder() const { return final_reorder_; }
  /// The copy before the reverse chain: the inverse of final_reorder().
  const Reorder& initial_reorder() const { return initial_reorder_; }

  /// Computes the mean `y` of `x` for n samples. `scratch` has scratch(n) elements or more.
  template <class T>
  void mean(const kernels::Kernels<T>& k, std::int64_t n, const T* x, T* y, T* scratch) const;
  /// Computes the gradient `dx` of `x` from the gradient `dy` of the mean, for n samples. `scratch` is as for mean().
  template <class T>
  void gradient(const kernels::Kernels<T>& k, std::int64_t n, const T* dy, T* dx, T* scratch) const;

 private:
  std::int64_t buffer_elements(std::int64_t n) const { return max_elements_.at(n); }

  std::vector<AxisView> stages_;
  Reorder final_reorder_;      // from the last mean to y
  Reorder initial_reorder_;    // inverse
  ElementCount max_elements_;  // of the largest value between two means
};

}  // namespace lanista::program
