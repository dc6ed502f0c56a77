#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/plan/sharing/logical_graph.h"

// What runs together, and in which form: a value that can be printed, compared and handed to an executor.
namespace lanista::fuse {

/// One operator of a group's step. Its lanes are logical nodes; a logical node with several owners in the group
/// computes once for all of them.
struct PlannedOp {
  OpForm form = OpForm::kAlone;
  std::vector<std::size_t> nodes;
};

/// One lane program: its members train the same structure, each in a lane of its own. Lane i's j-th trained node is
/// LogicalGraph::trained_part(members[i])[j].
struct PlannedProgram {
  std::vector<std::size_t> members;
  bool same_ids = true;  ///< all lanes know the nodes by the same ids; otherwise names and masks need translation
};

/// Values of a deterministic prefix, kept for every sample from the first epoch on.
struct Materialized {
  std::vector<OutputRef> values;
  Digest key;  ///< equal where another group keeps the same values: it is stored once
  std::int64_t bytes_per_sample = 0;
  std::int64_t num_samples = 0;
  std::int64_t epochs = 0;          ///< of all groups with this key together
  double compute_us_per_epoch = 0;  ///< without a cache
  double read_us_per_epoch = 0;     ///< with one
  double store_us = 0;              ///< once
  double saved_us = 0;              ///< of one step, from the second epoch on
  bool pays = false;                ///< (epochs - 1) (compute - read) > store, and there is room
  std::string why_not;
};

enum class GroupForm {
  kSingle,  ///< one trial alone
  kFused,   ///< one lane program with several lanes
  kPacked,  ///< several lane programs behind one input pipeline
};

/// Trials that advance together, one step at a time.
struct FusedGroup {
  std::vector<PlannedProgram> programs;
  std::vector<PlannedOp> ops;     ///< in the order of execution
  std::vector<FusedGroup> parts;  ///< what was joined, as it would run apart; empty for a single trial
  std::optional<Materialized> cache;
  std::int64_t bytes = 0;  ///< predicted peak: weights, gradients, slots and activations
  double us = 0;           ///< predicted, of one step of all members that computes everything

  GroupForm form() const;
  std::vector<std::size_t> members() const;
  /// Predicted, of one step that reads from the cache what is kept there.
  double steady_us() const;
};

/// What a pass found and did not do, or undid.
struct Declined {
  std::string pass;
  std::vector<std::size_t> members;
  std::string reason;
};

struct PassReport {
  std::string name;
  std::size_t changes = 0;  ///< nodes saved, trials joined, operators merged, joins undone, caches
  double microseconds = 0;  ///< by the caller's clock; zero without one
};

struct FusionPlan {
  LogicalGraph graph;
  std::vector<FusedGroup> groups;
  std::vector<Declined> declined;
  std::vector<PassReport> reports;
  double alone_us = 0;  ///< predicted, of one step of every trial when each runs for itself

  /// Predicted, of one step of every trial, with what is kept read from the cache.
  double us() const;
};

struct Limits {
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();        ///< of one group
  std::int64_t cache_bytes = std::numeric_limits<std::int64_t>::max();  ///< of all materialised values
  std::size_t max_lanes = 64;                                           ///< of one program
  std::size_t max_programs = 16;                                        ///< of one group
  bool shared_activations = true;  ///< lanes run one after the other on one set of activations (a CPU)
  bool structural_lanes = true;    ///< lanes may have other node ids; false: relatives with the same ids only
  double min_gain = 0.05;          ///< a join saves at least this part of the time, or it is undone
};

struct PlanOptions {
  Limits limits;
  std::vector<std::string> off{};   ///< names of passes that are left out
  std::function<double()> clock{};  ///< microseconds, to time passes; the plan does not depend on it
};

/// Decides who runs with whom by predicted cost, for devices on which launches cost; executors on a CPU run plans of
/// room schedule (plan_of), as a lane costs there what it costs alone. Runs the standard passes (pass.h) and verifies
/// the plan after each. The same arguments give the same plan. Errors: unite's; those of a training step that cannot be
/// derived; kNotFound for a pass that is not there; kInternal from verify, with pass and nodes.
Result<FusionPlan> make_plan(std::vector<FusionMember> members, const graph::OpTable& ops, const CostModel& cost,
                             const PlanOptions& options = {});

/// The plan in which these members are lanes of one program each, and everybody has a place: who runs with whom is
/// decided (schedule::make_plan), what it shares and is predicted to take is worked out here. Every group has one
/// program. Errors: as of make_plan; kInvalidArgument if `programs` are no partition of the members.
Result<FusionPlan> plan_of(std::vector<FusionMember> members, std::span<const std::vector<std::size_t>> programs,
                           const graph::OpTable& ops, const CostModel& cost, const Limits& limits = {});

/// The plan for people: who was fused, packed and merged, what is shared and kept, and why not.
std::string explain(const FusionPlan& plan);

}  // namespace lanista::fuse
