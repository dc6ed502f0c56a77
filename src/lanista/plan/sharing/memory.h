#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/sharing/plan.h"

namespace lanista::fuse {

/// Predicts the peak of a group's memory by liveness (step::plan_memory). Keeps what it has worked out, so every
/// structure of a step is derived once; the answers do not depend on the order of the questions.
class MemoryModel {
 public:
  MemoryModel(const graph::OpTable& ops, const Limits& limits);

  /// Derives the member's training step. Errors: derive_training_step's, with the trial in `where`.
  Result<void> add_member(const LogicalGraph& graph, std::size_t member);

  /// Bytes of programs that run together, each with its lanes; every member must have been learnt. Too large for 64
  /// bits: the largest number.
  std::int64_t bytes(const LogicalGraph& graph, std::span<const PlannedProgram> programs) const;

 private:
  struct StepBytes {
    std::int64_t state = 0;        ///< of a lane: parameters, gradients, slots, buffers
    std::int64_t weights = 0;      ///< of those, parameters and buffers
    std::int64_t activations = 0;  ///< peak of what lives between forward and commit
  };
  std::int64_t prefix_bytes(const LogicalGraph& graph, std::span<const PlannedProgram> programs) const;

  graph::OpTable ops_;  ///< with the step's operators
  bool shared_activations_;
  std::map<Digest, StepBytes> by_structure_;
  std::map<std::size_t, StepBytes> by_member_;
};

}  // namespace lanista::fuse
