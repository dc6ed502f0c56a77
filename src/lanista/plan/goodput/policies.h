#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/plan/goodput/simulate.h"

namespace lanista::goodput {

/// An allocator by name, with the settings that it is simulated with.
struct NamedPolicy {
  std::string name;           ///< Name on the command line.
  std::string help;           ///< One line for people.
  SimulationOptions options;  ///< Freedom of its jobs, and what it may know of them.
  bool is_random = false;     ///< True: its decisions depend on the seed.
  std::function<std::unique_ptr<Allocator>(std::uint64_t seed)> make;  ///< Returns a new allocator.
};

/// Returns the policies that can be compared. They live until the process ends.
///
/// The baselines are static, tiresias, optimus and pollux. The others are steps towards `ours`, each with one more
/// idea:
/// - exact: Pollux's objective by knapsack; exact-shared: jobs start with the measurements of their application;
/// - finish: most jobs finished soonest, with sizes estimated by attained work; kind: estimated by finished jobs of the
///   same application; ours: decides every 10 s;
/// - budget: as ours, with the true remaining work of each job.
const std::vector<NamedPolicy>& policies();
/// Returns the policy of this name, or null if there is none.
const NamedPolicy* find_policy(std::string_view name);

}  // namespace lanista::goodput
