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
namespace lanista::goodput {

/// Devices of one node that a job gets.
struct NodeShare {
  std::int32_t node = 0;     ///< Number of the node, from 0.
  std::int32_t devices = 0;  ///< Number of devices of this node, at least 1.
  bool operator==(const NodeShare&) const = default;
};
/// The devices of a job: for each node that it uses, the number of the node and of its devices. Empty: the job waits.
using Allocation = std::vector<NodeShare>;

/// Returns the number of devices of an allocation on all its nodes; 0 if the job waits.
std::int32_t devices_of(const Allocation& allocation);
/// Returns true if the job has devices on more than one node. Two such jobs slow each other on a common node
/// (SimulationOptions::interference).
inline bool is_distributed(const Allocation& allocation) { return allocation.size() > 1; }

/// A cluster of equal nodes with equal devices.
struct Nodes {
  std::int32_t count = 16;   ///< Number of nodes.
  std::int32_t devices = 4;  ///< Number of devices of each node.
  /// Returns the number of all devices.
  std::int32_t total() const { return count * devices; }
  bool operator==(const Nodes&) const = default;
};

/// The best goodput of a job by its number of replicas, on one node or on several.
///
/// Each value is computed when it is first asked for, and then kept as long as the table. Not thread-safe.
class GoodputTable {
 public:
  /// Makes an empty table for this model, which is copied.
  explicit GoodputTable(JobModel model) : model_(std::move(model)) {}
  /// Returns the best goodput of `replicas` replicas, in useful samples a second; 0 without replicas or if no batch
  /// fits. `nodes` matters only as one or several.
  double at(std::int64_t nodes, std::int64_t replicas) const;
  /// Returns the best goodput of `replicas` on as few nodes as hold them, in useful samples a second.
  double packed(std::int64_t replicas, std::int32_t devices_of_node) const;
  /// Returns the model that was given to the constructor.
  const JobModel& model() const { return model_; }

 private:
  JobModel model_;
  mutable std::array<std::vector<double>, 2> known_;  ///< On one node, and on several; negative: not computed yet.
};

/// The true costs of a job with the batch size that its user requests. Only some allocators may see them.
struct TrueCosts {
  std::function<double(std::int32_t)> step_seconds;  ///< Seconds of a step by replicas, on as few nodes as possible.
  double steps_left = 0;                             ///< Steps after the present epoch; 1 during the last epoch.
};

/// A job that has not finished, as an allocator sees it. Pointers are valid during the call of `allocate`.
struct JobView {
  std::int64_t id = 0;                    ///< Number of the job, the same in all decisions.
  double submitted = 0;                   ///< Second of its submission.
  double age = 0;                         ///< Seconds since its submission.
  double service = 0;                     ///< Devices times seconds so far, with the time of restarts.
  double goodput_service = 0;             ///< Useful samples so far: progress times the initial batch size.
  std::int32_t restarts = 0;              ///< Times that it got other devices; the first devices do not count.
  std::int32_t wanted = 1;                ///< Replicas that its user requests.
  std::int32_t most = 1;                  ///< Most replicas that it may get in this decision.
  std::int64_t kind = 0;                  ///< Number of its application; equal for jobs of one application.
  const GoodputTable* goodput = nullptr;  ///< Goodput by replicas; null until a step was measured.
  std::optional<double> left;             ///< Useful samples until its end, if it has a budget and reveals it.
  const TrueCosts* true_costs = nullptr;  ///< Null unless the simulation reveals them.
};

/// The input of one decision of an allocator. Its spans are valid during the call of `allocate`.
struct AllocatorState {
  double now = 0;                       ///< Second of the decision.
  Nodes nodes;                          ///< The cluster.
  double restart_seconds = 30;          ///< Seconds without training after a change of devices.
  std::span<const JobView> jobs;        ///< Jobs that have not finished.
  std::span<const Allocation> current;  ///< Present allocation of each job, in the order of `jobs`.
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

/// Checks that a decision assigns each device at most once.
///
/// Errors: kInvalidArgument if the numbers of allocations and jobs differ. The same, with job and node, for a node that
/// does not exist or is listed twice, an entry without devices, and a node without enough devices.
Result<void> check_allocations(const AllocatorState& state, std::span<const Allocation> decided);

/// Returns the factor by which restarts reduce the goodput of a job that gets other devices: max(T - R d, 0) / (T + d).
///
/// T is the age of the job in seconds, R its number of restarts, d the seconds of a restart (Pollux, OSDI'21, section
/// 4.2).
double restart_factor(const JobView& job, double restart_seconds);

}  // namespace lanista::goodput
