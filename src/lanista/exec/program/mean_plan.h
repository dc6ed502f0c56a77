#pragma once

#include <cstdint>
#include <vector>

#include "lanista/model/graph/shape.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/layout.h"

namespace lanista::nn {

/// The mean over some axes as a chain of one-axis means over neighbouring memory axes, in ascending memory order, and a
/// last copy where the remaining axes change their order. Its gradient is the chain backwards.
class MeanPlan {
 public:
  /// `x` is the larger value, `axes` logical axes without the batch, `y` the mean; axes may stay with size one.
  MeanPlan(const graph::Shape& x, const std::vector<std::int64_t>& axes, const graph::Shape& y);

  /// Scratch elements for up to `max_batch` samples.
  std::int64_t scratch(std::int64_t max_batch) const { return 2 * buffer_elements(max_batch); }

  // The chain itself, for who runs it elsewhere: one-axis means in order, and the copies behind and, backwards, before.
  const std::vector<AxisView>& stages() const { return stages_; }
  const Reorder& final_reorder() const { return final_reorder_; }
  const Reorder& initial_reorder() const { return initial_reorder_; }

  template <class T>
  void mean(const kernels::Kernels<T>& k, std::int64_t n, const T* x, T* y, T* scratch) const;
  template <class T>
  void gradient(const kernels::Kernels<T>& k, std::int64_t n, const T* dy, T* dx, T* scratch) const;

 private:
  std::int64_t buffer_elements(std::int64_t n) const { return max_elements_.at(n); }

  std::vector<AxisView> stages_;
  Reorder final_reorder_;     // from what the stages leave to y
  Reorder initial_reorder_;  // the inverse
  ElementCount max_elements_;    // the largest value between two steps
};

}  // namespace lanista::nn
