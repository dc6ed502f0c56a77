#include "bench/cluster.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>

#include "lanista/base/file_system.h"
#include "bench/arms.h"
#include "lanista/plan/goodput/bounds.h"
#include "lanista/plan/goodput/policies.h"
#include "lanista/plan/goodput/simulate.h"

namespace lanista::bench {
namespace {

using cluster::ClusterCourse;
using cluster::JobFreedom;
using cluster::NamedPolicy;
using cluster::SimulationOptions;
using cluster::Workload;

/// What a case needs.
struct Scene {
  const Request& request;
  std::ostream& out;
  Workload workload;
  double bound = 0;

  void row(const std::string& name, const std::string& arm, const std::string& unit, double value, double spread = 0,
           int repeats = 1) const {
    print({"cluster", name, arm, unit, value, spread, repeats}, request.json, out);
    out << std::flush;
  }
  bool wants(const std::string& name) const {
    return request.cases.empty() ? name == "completion" : std::ranges::find(request.cases, name) != request.cases.end();
  }
};

Result<ClusterCourse> course_of(const Scene& scene, const NamedPolicy& policy, const SimulationOptions& options,
                                std::uint64_t seed) {
  const auto allocator = policy.make(seed);
  LANISTA_ASSIGN(ClusterCourse course, cluster::simulate(scene.workload, *allocator, options));
  // Epochs end at whole seconds, so a job may be half a second early in each.
  if (course.mean_completion() < scene.bound * 0.98) {
    return Error{Code::kInternal, policy.name + " ended before the bound", ""};
  }
  return course;
}

Result<void> completion(const Scene& scene) {
  for (const NamedPolicy& policy : cluster::policies()) {
    if (!scene.request.strategy.empty() && policy.name != scene.request.strategy) continue;
    const int seeds = policy.is_random ? std::max(scene.request.seeds, 1) : 1;
    std::vector<double> means;
    for (int seed = 0; seed < seeds; ++seed) {
      const double begin = now_seconds();
      LANISTA_ASSIGN(const ClusterCourse course,
                     course_of(scene, policy, policy.options, static_cast<std::uint64_t>(seed)));
      const double took = now_seconds() - begin;
      means.push_back(course.mean_completion());
      if (seed > 0) continue;
      scene.row("p99", policy.name, "s", course.completion_quantile(0.99));
      scene.row("makespan", policy.name, "s", course.makespan);
      scene.row("restarts", policy.name, "", static_cast<double>(course.restarts()));
      scene.row("simulation", policy.name, "s", took);
    }
    const Row all = summary("cluster", "completion", policy.name, "s", means);
    print(all, scene.request.json, scene.out);
    if (scene.bound > 0) scene.row("of-bound", policy.name, "", all.value / scene.bound);
  }
  return {};
}

/// Runs the arms that the sensitivity is of.
Result<void> disturbed(const Scene& scene, const std::string& name,
                       const std::function<void(SimulationOptions&)>& disturb) {
  for (const char* arm : {"exact", "ours"}) {
    const NamedPolicy* policy = cluster::find_policy(arm);
    SimulationOptions options = policy->options;
    disturb(options);
    LANISTA_ASSIGN(const ClusterCourse course, course_of(scene, *policy, options, 0));
    scene.row(name, arm, "s", course.mean_completion());
  }
  return {};
}

Result<void> sensitivity(const Scene& scene) {
  LANISTA_TRY(disturbed(scene, "as-it-is", [](SimulationOptions&) {}));
  for (const double factor : {0.3, 3.0}) {
    const std::string text = factor < 1 ? "0.3" : "3";
    LANISTA_TRY(disturbed(scene, "noise-x" + text, [=](SimulationOptions& o) { o.noise_factor = factor; }));
    LANISTA_TRY(disturbed(scene, "sync-x" + text, [=](SimulationOptions& o) { o.sync_factor = factor; }));
  }
  for (const double delta : {0.0, 10.0, 60.0}) {
    LANISTA_TRY(disturbed(scene, "restart-" + std::to_string(static_cast<int>(delta)) + "s",
                          [=](SimulationOptions& o) { o.restart_seconds = o.told_restart_seconds = delta; }));
  }
  LANISTA_TRY(disturbed(scene, "restart-60s-told-30", [](SimulationOptions& o) { o.restart_seconds = 60; }));
  LANISTA_TRY(disturbed(scene, "interference-half", [](SimulationOptions& o) { o.interference = 0.5; }));
  // Everybody comes in the first minute of his hour.
  Scene bursts{scene.request, scene.out, scene.workload, 0};
  for (auto& job : bursts.workload.jobs) job.time = std::floor(job.time / 3600) * 3600 + std::fmod(job.time, 60);
  return disturbed(bursts, "bursts", [](SimulationOptions&) {});
}

}  // namespace

Result<void> cluster(const Request& request, std::ostream& out) {
  Scene scene{request, out, {}, 0};
  if (scene.wants("speed")) LANISTA_TRY(cluster_speed(request, out));
  if (scene.wants("search")) LANISTA_TRY(cluster_search(request, out));
  if (!scene.wants("completion") && !scene.wants("sensitivity")) return {};
  if (request.file.empty() || request.data.empty()) {
    return Error{Code::kInvalidArgument,
                 "cluster needs --file WORKLOAD.csv (name,time,application,num_replicas,batch_size) and --data DIR, "
                 "the folder of its applications' traces",
                 ""};
  }
  LANISTA_ASSIGN(scene.workload, cluster::read_workload(real_file_system(), request.file, request.data));
  const auto bounds = cluster::bounds_of(scene.workload, {});
  scene.bound = bounds.best();
  if (scene.wants("completion")) {
    LANISTA_TRY(completion(scene));
    scene.row("completion", "bound-isolation", "s", bounds.isolation);
    scene.row("completion", "bound-work", "s", bounds.work);
    scene.row("completion", "bound", "s", bounds.best());
  }
  if (scene.wants("sensitivity")) LANISTA_TRY(sensitivity(scene));
  return {};
}

}  // namespace lanista::bench
