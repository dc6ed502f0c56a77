#pragma once

#include <cstdint>
#include <map>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/sharing/plan.h"

namespace lanista::sharing {

/// Predicts the peak memory of a group by the liveness of its values (autodiff::plan_memory). Not thread-safe.
///
/// add_member keeps its results, so that each structure of a training step is derived once. The results do not depend
/// on the order of the calls. All calls must have the same graph, of which nodes may be merged in between.
class MemoryModel {
 public:
  /// `ops` must contain the operators of all members.
  explicit MemoryModel(const graph::OpTable& ops);

  /// Derives the training step of the member with this index in `graph`. Errors: those of derive_training_step, with
  /// the trial in `where`.
  Result<void> add_member(const LogicalGraph& graph, std::size_t member);

  /// Returns the peak bytes of a lane program, with its shared prefix. add_member must have been called for every
  /// member.
  ///
  /// Each lane has its own state. All lanes use one set of activations, since they run one after another. A sum that
  /// does not fit into 64 bits gives the largest number.
  std::int64_t bytes(const LogicalGraph& graph, const PlannedProgram& program) const;

 private:
  struct StepBytes {
    std::int64_t state = 0;        ///< Bytes of a lane: parameters, gradients, optimiser state and buffers.
    std::int64_t weights = 0;      ///< Parameters and buffers among them, in bytes.
    std::int64_t activations = 0;  ///< Peak bytes of the values between forward pass and commit section.
  };
  std::int64_t prefix_bytes(const LogicalGraph& graph, const PlannedProgram& program) const;

  graph::OpTable ops_;  ///< With the operators of training steps.
  std::map<Digest, StepBytes> by_structure_;
  std::map<std::size_t, StepBytes> by_member_;
};

}  // namespace lanista::sharing
