#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/plan/goodput/goodput.h"

// The input and the result of allocators: the jobs, the nodes, and the devices of each job.
namespace lanista::cluster {

/// Devices of one node for a job.
struct NodeShare {
  std::int32_t node = 0;     ///< Number of the node.
  std::int32_t devices = 0;  ///< Number of devices.
  bool operator==(const NodeShare&) const = default;
};
/// The devices of a job. Each node is listed at most once. Empty: the job waits.
using Allocation = std::vector<NodeShare>;

/// Returns the number of devices on all nodes.
std::int32_t devices_of(const Allocation& allocation);
/// Returns true if the job spans several nodes. Two such jobs may not share a node, since both would
/// use its link.
inline bool is_distributed(const Allocation& allocation) { return allocation.size() > 1; }

/// A cluster of equal nodes with equal devices.
struct Nodes {
  std::int32_t count = 16;   ///< Number of nodes.
  std::int32_t devices = 4;  ///< Devices of a node.
  /// Returns the number of all devices.
  std::int32_t total() const { return count * devices; }
  bool operator==(const Nodes&) const = default;
};

/// The best goodput of a job by its number of replicas, on one node or on several.
///
/// Values are computed at the first call and kept. Not thread-safe.
class GoodputTable {
 public:
  /// Evaluates this model.
  explicit GoodputTable(JobModel model) : model_(std::move(model)) {}
  /// Returns the best goodput of `replicas` on `nodes` nodes, in useful samples a second.
  double at(std::int64_t nodes, std::int64_t replicas) const;
  /// Returns the best goodput of `replicas` on as few nodes as hold them.
  double packed(std::int64_t replicas, std::int32_t devices_of_node) const;
  /// Returns the model of the job.
  const JobModel& model() const { return model_; }

 private:
  JobModel model_;
  mutable std::array<std::vector<double>, 2> known_;  ///< On one node, and on several; negative: not computed yet.
};

/// The true costs of a job with a fixed batch, for allocators that may know them.
struct TrueCosts {
  std::function<double(std::int32_t)> step_seconds;  ///< Seconds of a step on this many replicas, packed.
  double steps_left = 0;                             ///< Steps until the job ends.
};

/// A job that has not finished, as an allocator sees it.
struct JobView {
  std::int64_t id = 0;                    ///< Number of the job.
  double submitted = 0;                   ///< Second of its submission.
  double age = 0;                         ///< Seconds since its submission.
  double service = 0;                     ///< Device-seconds that it has had.
  double goodput_service = 0;             ///< Useful samples that it has trained.
  std::int32_t restarts = 0;              ///< Number of changes of its devices.
  std::int32_t wanted = 1;                ///< Replicas that its user requests.
  std::int32_t most = 1;                  ///< Most replicas that it may have now.
  std::int64_t kind = 0;                  ///< Number of its program; equal for jobs of one application.
  const GoodputTable* goodput = nullptr;  ///< Null until it has been measured.
  std::optional<double> left;             ///< Useful samples until its end, if it has a budget and reveals it.
  const TrueCosts* true_costs = nullptr;  ///< Null unless the simulation reveals them.
};

/// What an allocator knows when it decides.
struct AllocatorState {
  double now = 0;                       ///< Second of the decision.
  Nodes nodes;                          ///< The cluster.
  double restart_seconds = 30;          ///< Seconds without training after a change of devices.
  std::span<const JobView> jobs;        ///< Jobs that have not finished.
  std::span<const Allocation> current;  ///< Present allocation of each job.
};

/// A rule that gives the devices of a cluster to jobs.
///
/// It may keep a state between decisions. Equal sequences of inputs give equal decisions.
class Allocator {
 public:
  virtual ~Allocator() = default;
  /// Returns its name for tables and messages.
  virtual std::string_view name() const = 0;
  /// Returns the new allocation of each job, in the order of `state.jobs`.
  virtual std::vector<Allocation> allocate(const AllocatorState& state) = 0;
};

/// Checks that a decision uses each device once. Errors: kInvalidArgument with the job and the node.
Result<void> check_allocations(const AllocatorState& state, std::span<const Allocation> decided);

/// Returns the factor of a job's speed-up if its devices change: (T - R d) / (T + d), at least 0.
///
/// T is its age, R the number of restarts, d the seconds of a restart (Pollux, OSDI'21, section 4.2).
double restart_factor(const JobView& job, double restart_seconds);

}  // namespace lanista::cluster
