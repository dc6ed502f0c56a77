#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/plan/sharing/logical_graph.h"

// The groups of a batch of trials with their shared work and predicted costs, as a value that can be printed.
namespace lanista::sharing {

/// One operator of a group's step. Each lane is a logical node.
///
/// A logical node with several owners in the group is one lane, which computes once for all of them.
struct PlannedOp {
  std::vector<std::size_t> nodes;  ///< Indices in LogicalGraph::nodes, one for each lane.
};

/// One lane program: its members train the same structure, each in its own lane.
///
/// The j-th trained node of lane i is `LogicalGraph::trained_part(members[i])[j]`.
struct PlannedProgram {
  std::vector<std::size_t> members;  ///< Indices in LogicalGraph::members, one for each lane.
  bool same_ids = true;  ///< True: all trained parts have equal node ids; false: names and masks need a translation.
};

/// The costs of caching the output of a frozen prefix for every sample, and the decision.
///
/// The first epoch computes and stores the values. Later epochs read them.
struct Materialized {
  std::int64_t bytes_per_sample = 0;  ///< Size of the cached value of one sample, in bytes.
  std::int64_t num_samples = 0;       ///< Samples of an epoch.
  std::int64_t epochs = 0;            ///< Epochs of all readers together.
  double compute_us_per_epoch = 0;    ///< Microseconds to compute the values of one epoch.
  double read_us_per_epoch = 0;       ///< Microseconds to read the values of one epoch from the cache.
  double store_us = 0;                ///< Microseconds to store all values once.
  double saved_us = 0;                ///< Microseconds that 64 samples save from the second epoch on.
  bool pays = false;                  ///< True: later epochs save more than storing needs, and the cache has space.
  std::string why_not;                ///< Reason against caching; empty if `pays`.
};

/// How many lanes a group has.
enum class GroupForm {
  kSingle,  ///< One trial alone.
  kFused,   ///< One lane program with several lanes.
};

/// Trials that advance together, one step at a time, in one lane program.
struct FusedGroup {
  PlannedProgram program;         ///< The trials and their lanes.
  std::vector<PlannedOp> ops;     ///< Operators in the order of execution.
  std::vector<FusedGroup> parts;  ///< The same trials as groups of one; empty for a single trial.
  std::int64_t bytes = 0;         ///< Predicted peak memory in bytes, with weights, gradients and optimiser state.
  double us = 0;                  ///< Predicted microseconds of one step of all members.

  /// Returns kFused if the group has more than one trial.
  GroupForm form() const;
  /// Returns the indices of the members in ascending order.
  std::vector<std::size_t> members() const;
};

/// The groups of a batch of trials, and the logical graph that they execute.
struct FusionPlan {
  LogicalGraph graph;              ///< Nodes of all members, with equal prefixes merged.
  std::vector<FusedGroup> groups;  ///< In the order of the programs; every member is in exactly one group.
  std::size_t nodes_saved = 0;     ///< Nodes that were merged with an equal node of another trial.
  double alone_us = 0;             ///< Predicted microseconds of one step of every trial, each trained alone.

  /// Returns the predicted microseconds of one step of all groups in sum.
  double us() const;
};

/// Computes what given groups share, and what they need in time and memory.
///
/// The caller has decided which trials train together (plan::make_plan): each entry of `programs` lists the
/// members of one lane program. Equal prefixes of the models are merged. The plan is verified (verify.h). The same
/// arguments give the same plan.
/// Errors: those of `unite`; those of a training step that cannot be derived, with the trial in `where`;
/// kInvalidArgument if a program is empty or a member is not in exactly one; kInternal if lanes of a program differ.
/// Indices must be below the number of members, which is not checked.
Result<FusionPlan> plan_of(std::vector<FusionMember> members, std::span<const std::vector<std::size_t>> programs,
                           const graph::OpTable& ops, const plan::Costs& costs);

/// Returns a text for people that lists each group with its cost, what it shares, and why trials are not in one group.
std::string explain(const FusionPlan& plan);

}  // namespace lanista::sharing
