#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/plan/goodput/simulate.h"

namespace lanista::cluster {

/// An allocator with what its jobs may do and know.
struct NamedPolicy {
  std::string name, help;
  SimulationOptions options;
  bool is_random = false;
  std::function<std::unique_ptr<Allocator>(std::uint64_t seed)> make;
};

/// static, tiresias, optimus, pollux; then what ours is made of, each with one thing more: exact (Pollux's objective,
/// by knapsack), exact-shared (jobs begin with what others of their application measured), finish (who is finished
/// soonest, by attained work), kind (by what finished ones of their application did), ours (every 10 s); and budget,
/// which is told what is left of each job.
const std::vector<NamedPolicy>& policies();
/// nullptr if there is none of that name.
const NamedPolicy* find_policy(std::string_view name);

}  // namespace lanista::cluster
