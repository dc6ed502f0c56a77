#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/shape.h"

namespace lanista::fuse {

/// What one node has to do in one step of its trial. Numbers are of the whole batch, forward and backward together.
struct OperatorWork {
  std::shared_ptr<const graph::Node> operation;  ///< operator and attributes; its inputs say nothing here
  std::vector<graph::ValueType> inputs;          ///< of the data inputs
  std::int64_t batch = 1;
  bool input_grad = false;   ///< the backward pass goes through to its inputs
  bool weight_grad = false;  ///< it is trained
  double launches = 0;       ///< kernels; 0 for what only names a value
  double flops = 0;
  double in_bytes = 0;     ///< of its inputs, once for every pass that reads them
  double other_bytes = 0;  ///< of outputs and weights
  double host_us = 0;      ///< of a data step: what it takes as stated
};

/// How an operator of a plan computes its lanes.
enum class OpForm {
  kAlone,    ///< one lane
  kBatched,  ///< the same operator with weights of its own for every lane
  kFanOut,   ///< all lanes read one tensor: one dense operator with the outputs side by side
};

/// Predicts time. Planners read no clock and no file, so what was measured comes in through this. A pure function.
class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Microseconds of one operator that computes all `lanes` (at least one) in one step.
  virtual double op_us(std::span<const OperatorWork* const> lanes, OpForm form) const = 0;
  /// Microseconds to bring this many bytes side by side in memory, where lanes come from different places.
  virtual double copy_us(double bytes) const = 0;
  /// Microseconds to put bytes into the cache of materialised values, and to take them out.
  virtual double store_us(double bytes) const = 0;
  virtual double load_us(double bytes) const = 0;
};

/// A rule of thumb for when nothing was measured: a kernel costs its launch and then the greater of arithmetic and
/// traffic. The defaults are of one core of a server with the values in its caches.
struct Roofline {
  double launch_us = 0.15;  ///< of a kernel, however many lanes it has
  double flops_per_us = 1e5;
  double bytes_per_us = 1e5;
  double store_bytes_per_us = 5e3;
  double load_bytes_per_us = 1e4;
};

class RooflineCost final : public CostModel {
 public:
  explicit RooflineCost(Roofline rates = {}) : rates_(rates) {}
  double op_us(std::span<const OperatorWork* const> lanes, OpForm form) const override;
  double copy_us(double bytes) const override { return bytes / rates_.bytes_per_us; }
  double store_us(double bytes) const override { return bytes / rates_.store_bytes_per_us; }
  double load_us(double bytes) const override { return bytes / rates_.load_bytes_per_us; }

 private:
  Roofline rates_;
};

}  // namespace lanista::fuse
