#include "lanista/plan/goodput/policies.h"

#include <algorithm>

#include "lanista/plan/goodput/baseline_allocators.h"
#include "lanista/plan/goodput/genetic.h"
#include "lanista/plan/goodput/knapsack_allocator.h"

namespace lanista::goodput {
namespace {

NamedPolicy plain(std::string name, std::string help, JobFreedom freedom, std::unique_ptr<Allocator> (*make)()) {
  NamedPolicy policy{std::move(name), std::move(help), {}, false, [make](std::uint64_t) { return make(); }};
  policy.options.freedom = freedom;
  return policy;
}

NamedPolicy exact(std::string name, std::string help, const KnapsackOptions& options, bool shares, double interval) {
  NamedPolicy policy{
      std::move(name), std::move(help), {}, false, [options](std::uint64_t) { return knapsack_allocator(options); }};
  policy.options.shares_profiles = shares;
  policy.options.interval = interval;
  policy.options.reveals_budget = options.guess == SizeGuess::kBudget;
  return policy;
}

std::vector<NamedPolicy> made() {
  std::vector<NamedPolicy> all;
  all.push_back(
      plain("static", "replicas that users request, first come first served", JobFreedom::kRigid, first_come));
  all.push_back(
      plain("tiresias", "replicas that users request, least attained service first", JobFreedom::kRigid, tiresias));
  all.push_back(
      plain("optimus", "replicas by marginal gain; knows true times and steps", JobFreedom::kElastic, optimus));
  all.back().options.reveals_true_costs = true;
  NamedPolicy pollux{"pollux", "genetic search for the harmonic mean of speed-ups", {}, true, [](std::uint64_t seed) {
                       return genetic({.population = 100, .generations = 100, .seed = seed, .widest = 16});
                     }};
  all.push_back(std::move(pollux));
  KnapsackOptions options;
  all.push_back(exact("exact", "Pollux's objective, exactly", options, false, 60));
  all.push_back(exact("exact-shared", "the same; jobs of an application share their measurements", options, true, 60));
  options = {.goal = Goal::kFinish,
             .guess = SizeGuess::kAttained,
             .new_job_device_seconds = 3600,
             .power = 0.4,
             .horizon = 240};
  all.push_back(exact("finish", "most jobs finished soonest; sizes estimated by attained work", options, true, 60));
  options.guess = SizeGuess::kKind;
  options.power = 0.5;
  all.push_back(exact("kind", "the same; sizes estimated by finished jobs of the application", options, true, 60));
  all.push_back(exact("ours", "the same; decides every 10 s", options, true, 10));
  options.guess = SizeGuess::kBudget;
  options.power = 0.3;
  all.push_back(exact("budget", "the same; knows the remaining work of each job", options, true, 10));
  return all;
}

}  // namespace

const std::vector<NamedPolicy>& policies() {
  static const std::vector<NamedPolicy> all = made();
  return all;
}

const NamedPolicy* find_policy(std::string_view name) {
  const auto found = std::ranges::find(policies(), name, &NamedPolicy::name);
  return found == policies().end() ? nullptr : &*found;
}

}  // namespace lanista::goodput
