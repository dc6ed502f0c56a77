#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "lanista/plan/sharing/memory.h"
#include "lanista/plan/sharing/plan.h"

namespace lanista::fuse {

/// What a pass may look at beside the plan.
struct PassContext {
  const graph::OpTable& ops;  ///< of models
  const CostModel& cost;
  const Limits& limits;
  MemoryModel& memory;
};

/// One way to save work. A pass changes who owns a node, who runs with whom, or which operators are one; what every
/// trial computes stays the same (verify). It proposes joins as they can be done; whether they pay is weighed once
/// all that builds on them is known.
class Pass {
 public:
  virtual ~Pass() = default;
  virtual std::string_view name() const = 0;
  /// Returns the number of changes (PassReport::changes).
  virtual Result<std::size_t> run(FusionPlan& plan, const PassContext& context) const = 0;
};

/// In order, for devices (make_plan): prefix, fuse, weigh, pack, fan_out, batch, weigh, gather, fan_out, weigh,
/// materialize. On a CPU plan_of uses prefix, and executors the rule of materialize (keep.h); the others serve devices
/// only.
std::vector<std::unique_ptr<Pass>> standard_passes();

// The standard passes.
std::unique_ptr<Pass> prefix_pass();   ///< equal nodes of several trials become one node
std::unique_ptr<Pass> fuse_pass();     ///< trials on one stream with equal trained parts become lanes of one program
std::unique_ptr<Pass> pack_pass();     ///< programs on one stream of batches run behind one input pipeline
std::unique_ptr<Pass> fan_out_pass();  ///< dense operators on one tensor become one operator
std::unique_ptr<Pass> batch_pass();    ///< alike operators of several programs become one with lanes
std::unique_ptr<Pass> gather_pass();   ///< as fuse, across streams, for those that are not packed
std::unique_ptr<Pass> weigh_pass();    ///< undoes joins that do not pay
std::unique_ptr<Pass> materialize_pass();  ///< keeps the values of deterministic prefixes where that pays

}  // namespace lanista::fuse
