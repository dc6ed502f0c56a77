#include "lanista/plan/goodput/allocation.h"

#include <algorithm>
#include <set>
#include <string>

namespace lanista::goodput {

std::int32_t devices_of(const Allocation& allocation) {
  std::int32_t sum = 0;
  for (const NodeShare& share : allocation) sum += share.devices;
  return sum;
}

double GoodputTable::at(std::int64_t nodes, std::int64_t replicas) const {
  if (replicas < 1) return 0;
  auto& known = known_[nodes > 1 ? 1 : 0];
  const auto index = static_cast<std::size_t>(replicas);
  if (known.size() <= index) known.resize(index + 1, -1);
  if (known[index] < 0) known[index] = best_plan(model_, nodes, replicas).goodput;
  return known[index];
}

double GoodputTable::packed(std::int64_t replicas, std::int32_t devices_of_node) const {
  return at((replicas + devices_of_node - 1) / devices_of_node, replicas);
}

Result<void> check_allocations(const AllocatorState& state, std::span<const Allocation> decided) {
  const auto wrong = [](std::size_t job, const std::string& what) {
    return Error{Code::kInvalidArgument, "allocation of job " + std::to_string(job) + ": " + what, ""};
  };
  if (decided.size() != state.jobs.size()) {
    return Error{Code::kInvalidArgument,
                 std::to_string(decided.size()) + " allocations for " + std::to_string(state.jobs.size()) + " jobs",
                 ""};
  }
  std::vector<std::int32_t> used(static_cast<std::size_t>(state.nodes.count), 0);
  for (std::size_t j = 0; j < decided.size(); ++j) {
    std::set<std::int32_t> seen;
    for (const NodeShare& share : decided[j]) {
      if (share.node < 0 || share.node >= state.nodes.count || share.devices < 1 || !seen.insert(share.node).second) {
        return wrong(j, std::to_string(share.devices) + " devices of node " + std::to_string(share.node) +
                            "; a node is listed once, with at least one device");
      }
      auto& sum = used[static_cast<std::size_t>(share.node)];
      sum += share.devices;
      if (sum > state.nodes.devices) {
        return wrong(j, "node " + std::to_string(share.node) + " would give " + std::to_string(sum) +
                            " devices; it has " + std::to_string(state.nodes.devices));
      }
    }
  }
  return {};
}

double restart_factor(const JobView& job, double restart_seconds) {
  return std::max(job.age - job.restarts * restart_seconds, 0.0) / (job.age + restart_seconds);
}

}  // namespace lanista::goodput
