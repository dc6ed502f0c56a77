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

// Who gets which devices: what allocators see, and what they say.
namespace lanista::cluster {

/// Devices of a job on one node.
struct NodeShare {
  std::int32_t node = 0, devices = 0;
  bool operator==(const NodeShare&) const = default;
};
/// Those of a job, a node at most once; empty: it waits.
using Allocation = std::vector<NodeShare>;

std::int32_t devices_of(const Allocation& allocation);
/// Two jobs that span nodes are never on one node: their messages would meet on its link.
inline bool is_distributed(const Allocation& allocation) { return allocation.size() > 1; }

/// Equal nodes of equal devices.
struct Nodes {
  std::int32_t count = 16, devices = 4;
  std::int32_t total() const { return count * devices; }
  bool operator==(const Nodes&) const = default;
};

/// Best goodput of a job by replicas, on one node or on several; worked out when first asked for, so it is for one
/// thread.
class GoodputTable {
 public:
  explicit GoodputTable(JobModel model) : model_(std::move(model)) {}
  double at(std::int64_t nodes, std::int64_t replicas) const;
  /// On as few nodes as hold them.
  double packed(std::int64_t replicas, std::int32_t devices_of_node) const;
  const JobModel& model() const { return model_; }

 private:
  JobModel model_;
  mutable std::array<std::vector<double>, 2> known_;  ///< on one node, on several; negative: not yet
};

/// What is really so of a job, for allocators that say they know: of a job with a fixed batch.
struct TrueCosts {
  std::function<double(std::int32_t)> step_seconds;  ///< on so many replicas, packed
  double steps_left = 0;
};

/// A job that is not finished, as an allocator sees it.
struct JobView {
  std::int64_t id = 0;
  double submitted = 0;                   ///< seconds
  double age = 0;                         ///< since then
  double service = 0;                     ///< device-seconds it had
  double goodput_service = 0;             ///< useful examples it has made
  std::int32_t restarts = 0;              ///< times that it was given other devices
  std::int32_t wanted = 1;                ///< replicas that its user asks for
  std::int32_t most = 1;                  ///< replicas that it may have now
  std::int64_t kind = 0;                  ///< jobs of one number run the same program
  const GoodputTable* goodput = nullptr;  ///< nothing until something is known
  std::optional<double> left;             ///< useful examples that it still needs, if it has a budget and says so
  const TrueCosts* true_costs = nullptr;
};

struct AllocatorState {
  double now = 0;
  Nodes nodes;
  double restart_seconds = 30;  ///< that a job stands still when its devices change; measured
  std::span<const JobView> jobs;
  std::span<const Allocation> current;  ///< of each job
};

/// A policy: who gets what from now on, for each job of the situation in its order. It may keep what it needs for its
/// next decision; the same situations give the same decisions.
class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual std::string_view name() const = 0;
  virtual std::vector<Allocation> allocate(const AllocatorState& state) = 0;
};

/// Errors: kInvalidArgument naming job and node, where a decision gives away what is not there.
Result<void> check_allocations(const AllocatorState& state, std::span<const Allocation> decided);

/// (T - R d) / (T + d), at least 0: what a job's speed-up is worth if its devices change, T its age, R past changes, d
/// the seconds of a restart (Pollux, section 4.2).
double restart_factor(const JobView& job, double restart_seconds);

}  // namespace lanista::cluster
