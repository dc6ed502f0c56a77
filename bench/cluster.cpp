#include "bench/cluster.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>

#include "bench/arms.h"
#include "lanista/base/file_system.h"
#include "lanista/plan/goodput/bounds.h"
#include "lanista/plan/goodput/policies.h"
#include "lanista/plan/goodput/simulate.h"

namespace lanista::bench {
namespace {

using goodput::ClusterResult;
using goodput::JobFreedom;
using goodput::NamedPolicy;
using goodput::SimulationOptions;
using goodput::Workload;

/// The input and the output of a case.
struct Scenario {
  const BenchRequest& request;
  std::ostream& out;
  Workload workload;
  double bound = 0;

  /// Prints a row.
  void row(const std::string& name, const std::string& arm, const std::string& unit, double value, double spread = 0,
           int repeats = 1) const {
    print({"cluster", name, arm, unit, value, spread, repeats}, request.json, out);
    out << std::flush;
  }
  /// True if the case runs.
  bool is_requested(const std::string& name) const {
    return request.cases.empty() ? name == "completion" : std::ranges::find(request.cases, name) != request.cases.end();
  }
};

/// Simulates a policy. Errors: kInternal if it ends before the bound.
Result<ClusterResult> simulate_policy(const Scenario& scenario, const NamedPolicy& policy,
                                      const SimulationOptions& options, std::uint64_t seed) {
  const auto allocator = policy.make(seed);
  LANISTA_ASSIGN(ClusterResult simulation, goodput::simulate(scenario.workload, *allocator, options));
  // Epochs end at whole seconds, so a job may be half a second early in each epoch.
  if (simulation.mean_completion() < scenario.bound * 0.98) {
    return Error{Code::kInternal, policy.name + " ended before the bound", ""};
  }
  return simulation;
}

Result<void> completion(const Scenario& scenario) {
  for (const NamedPolicy& policy : goodput::policies()) {
    if (!scenario.request.strategy.empty() && policy.name != scenario.request.strategy) continue;
    const int seeds = policy.is_random ? std::max(scenario.request.seeds, 1) : 1;
    std::vector<double> means;
    for (int seed = 0; seed < seeds; ++seed) {
      const double begin = now_seconds();
      LANISTA_ASSIGN(const ClusterResult simulation,
                     simulate_policy(scenario, policy, policy.options, static_cast<std::uint64_t>(seed)));
      const double simulation_seconds = now_seconds() - begin;
      means.push_back(simulation.mean_completion());
      if (seed > 0) continue;
      scenario.row("p99", policy.name, "s", simulation.completion_quantile(0.99));
      scenario.row("makespan", policy.name, "s", simulation.makespan);
      scenario.row("restarts", policy.name, "", static_cast<double>(simulation.restarts()));
      scenario.row("simulation", policy.name, "s", simulation_seconds);
    }
    const BenchRow all = summary("cluster", "completion", policy.name, "s", means);
    print(all, scenario.request.json, scenario.out);
    if (scenario.bound > 0) scenario.row("of-bound", policy.name, "", all.value / scenario.bound);
  }
  return {};
}

/// Runs two arms with options that `disturb` has changed.
Result<void> print_disturbed_runs(const Scenario& scenario, const std::string& name,
                                  const std::function<void(SimulationOptions&)>& disturb) {
  for (const char* arm : {"exact", "ours"}) {
    const NamedPolicy* policy = goodput::find_policy(arm);
    SimulationOptions options = policy->options;
    disturb(options);
    LANISTA_ASSIGN(const ClusterResult simulation, simulate_policy(scenario, *policy, options, 0));
    scenario.row(name, arm, "s", simulation.mean_completion());
  }
  return {};
}

Result<void> sensitivity(const Scenario& scenario) {
  LANISTA_TRY(print_disturbed_runs(scenario, "as-it-is", [](SimulationOptions&) {}));
  for (const double factor : {0.3, 3.0}) {
    const std::string text = factor < 1 ? "0.3" : "3";
    LANISTA_TRY(
        print_disturbed_runs(scenario, "noise-x" + text, [=](SimulationOptions& o) { o.noise_factor = factor; }));
    LANISTA_TRY(print_disturbed_runs(scenario, "sync-x" + text, [=](SimulationOptions& o) { o.sync_factor = factor; }));
  }
  for (const double delta : {0.0, 10.0, 60.0}) {
    LANISTA_TRY(
        print_disturbed_runs(scenario, "restart-" + std::to_string(static_cast<int>(delta)) + "s",
                             [=](SimulationOptions& o) { o.restart_seconds = o.assumed_restart_seconds = delta; }));
  }
  LANISTA_TRY(
      print_disturbed_runs(scenario, "restart-60s-known-30", [](SimulationOptions& o) { o.restart_seconds = 60; }));
  LANISTA_TRY(print_disturbed_runs(scenario, "interference-half", [](SimulationOptions& o) { o.interference = 0.5; }));
  // All jobs arrive in the first minute of their hour.
  Scenario bursts{scenario.request, scenario.out, scenario.workload, 0};
  for (auto& job : bursts.workload.jobs) job.time = std::floor(job.time / 3600) * 3600 + std::fmod(job.time, 60);
  return print_disturbed_runs(bursts, "bursts", [](SimulationOptions&) {});
}

}  // namespace

Result<void> cluster(const BenchRequest& request, std::ostream& out) {
  Scenario scenario{request, out, {}, 0};
  if (scenario.is_requested("speed")) LANISTA_TRY(cluster_speed(request, out));
  if (scenario.is_requested("search")) LANISTA_TRY(cluster_search(request, out));
  if (!scenario.is_requested("completion") && !scenario.is_requested("sensitivity")) return {};
  if (request.file.empty() || request.data.empty()) {
    return Error{Code::kInvalidArgument,
                 "cluster needs --file WORKLOAD.csv (name,time,application,num_replicas,batch_size) and --data DIR, "
                 "the folder of its applications' traces",
                 ""};
  }
  LANISTA_ASSIGN(scenario.workload, goodput::read_workload(real_file_system(), request.file, request.data));
  const auto bounds = goodput::bounds_of(scenario.workload, {});
  scenario.bound = bounds.best();
  if (scenario.is_requested("completion")) {
    LANISTA_TRY(completion(scenario));
    scenario.row("completion", "bound-isolation", "s", bounds.isolation);
    scenario.row("completion", "bound-work", "s", bounds.work);
    scenario.row("completion", "bound", "s", bounds.best());
  }
  if (scenario.is_requested("sensitivity")) LANISTA_TRY(sensitivity(scenario));
  return {};
}

}  // namespace lanista::bench
