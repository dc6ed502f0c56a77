#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/shape.h"

namespace lanista::sharing {

/// The work of one node in one step of its trial: forward and backward pass over the whole batch.
struct OperatorWork {
  std::shared_ptr<const graph::Node> operation;  ///< Operator and attributes; its `inputs` are not used.
  std::vector<graph::ValueType> inputs;          ///< Types of the data inputs, in order; parameters are left out.
  std::int64_t batch = 1;                        ///< Samples of a batch.
  bool input_grad = false;                       ///< True: the backward pass computes gradients of its inputs.
  bool weight_grad = false;                      ///< True: its weights are trained.
  /// Kernel launches of the step; 0 for a data step, and for a node that only names a value.
  double launches = 0;
  double flops = 0;     ///< FLOPs of both passes over the batch.
  double in_bytes = 0;  ///< Bytes of its inputs, counted once for every pass that reads them.
  /// Bytes of outputs and weights, counted once for each launch, and of the gradients of the inputs if `input_grad`.
  double other_bytes = 0;
  double host_us = 0;  ///< Microseconds of a data step for the batch; 0 for other nodes.
};

/// Predicts the times of a machine. Implementations are pure functions: they read no clock and no file.
class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Returns the microseconds of one step of one operator that computes all `lanes`. `lanes` is not empty.
  virtual double op_us(std::span<const OperatorWork* const> lanes) const = 0;
  /// Returns the microseconds to copy `bytes` bytes to or from contiguous memory: inputs of lanes, and their gradients
  /// if these are copied back.
  virtual double copy_us(double bytes) const = 0;
  /// Returns the microseconds to write `bytes` to the cache of prefix values.
  virtual double store_us(double bytes) const = 0;
  /// Returns the microseconds to read `bytes` from the cache of prefix values.
  virtual double load_us(double bytes) const = 0;
};

/// Rates of a machine that was not measured. The defaults are of one server core with the values in its caches.
struct Roofline {
  double launch_us = 0.15;          ///< Microseconds of a kernel launch, for any number of lanes.
  double flops_per_us = 1e5;        ///< FLOPs in a microsecond.
  double bytes_per_us = 1e5;        ///< Bytes of values that are read or written in a microsecond.
  double store_bytes_per_us = 5e3;  ///< Bytes written to the cache in a microsecond.
  double load_bytes_per_us = 1e4;   ///< Bytes read from the cache in a microsecond.
};

/// The roofline model: a kernel needs its launch, and then the greater of its arithmetic and its memory traffic.
class RooflineCost final : public CostModel {
 public:
  /// Uses these rates, which must be positive.
  explicit RooflineCost(Roofline rates = {}) : rates_(rates) {}
  double op_us(std::span<const OperatorWork* const> lanes) const override;
  double copy_us(double bytes) const override { return bytes / rates_.bytes_per_us; }
  double store_us(double bytes) const override { return bytes / rates_.store_bytes_per_us; }
  double load_us(double bytes) const override { return bytes / rates_.load_bytes_per_us; }

 private:
  Roofline rates_;
};

}  // namespace lanista::sharing
