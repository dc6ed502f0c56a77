#include "bench/fluid.h"

#include <algorithm>
#include <memory>
#include <ostream>
#include <set>

#include "bench/arms.h"
#include "bench/baselines/baseline_policies.h"
#include "bench/tabular_arms.h"
#include "bench/tuning_jobs.h"
#include "lanista/base/portable_math.h"
#include "lanista/plan/elastic/bounds.h"
#include "lanista/plan/elastic/elastic.h"
#include "lanista/plan/elastic/first_come.h"
#include "lanista/plan/elastic/simulate.h"

namespace lanista::bench {
namespace {

using plan::Arrival;
using plan::Cluster;
using plan::Policy;
using plan::Prediction;

constexpr int kGroups = 60, kJobs = 10, kWorstCaseGroups = 1000;

// The compared policies. The first one is the reference of the worst case, the last one is ours.
std::vector<std::unique_ptr<Policy>> schedulers() {
  std::vector<std::unique_ptr<Policy>> all;
  all.push_back(plan::first_come());
  all.push_back(plan::longest_trial_first());
  all.push_back(plan::fluid_static());
  all.push_back(plan::fluid_dynamic());
  all.push_back(plan::uniform_redistribution());
  all.push_back(plan::elastic());
  return all;
}

/// The makespan of a policy over both bounds.
struct Ratio {
  double dual = 0, elastic = 0;
};

/// Divides a makespan by the bounds. Errors: kInternal if it is below the stricter bound.
Result<Ratio> over_bound(double makespan, const TuningJob::Limit& limit, std::string_view arm) {
  if (makespan < limit.elastic * (1 - 1e-6)) {
    return Error{Code::kInternal,
                 std::string(arm) + " ended after " + std::to_string(makespan) + " s, before the bound of " +
                     std::to_string(limit.elastic) + " s",
                 ""};
  }
  return Ratio{makespan / limit.dual, makespan / limit.elastic};
}

/// Prints a row for each arm of a case, and a row with the last arm over the stricter bound.
void print_case(const std::string& name, const std::vector<std::string>& arms,
                const std::vector<std::vector<Ratio>>& ratios, const BenchRequest& request, std::ostream& out) {
  for (std::size_t a = 0; a < arms.size(); ++a) {
    std::vector<double> dual, elastic;
    for (const Ratio& ratio : ratios[a]) dual.push_back(ratio.dual), elastic.push_back(ratio.elastic);
    const int count = static_cast<int>(dual.size());
    const MeanAndDeviation mean = mean_of(dual), strict = mean_of(elastic);
    print({"fluid", name, arms[a], "of dual bound", mean.mean, mean.deviation, count}, request.json, out);
    if (a + 1 == arms.size()) {
      print({"fluid", name, arms[a] + "-elastic", "of elastic bound", strict.mean, strict.deviation, count},
            request.json, out);
    }
  }
  out << std::flush;
}

/// The size of a group, and the range of the part of a worker that its trials use.
struct GroupCase {
  std::int64_t trials, workers;
  double least_busy, most_busy;
};

/// Trials with lognormal times that arrive together. A change of width needs 5 % of the time of the median trial.
std::vector<Arrival> random_group(Rng rng, const GroupCase& of) {
  const double sigma = rng.uniform(0.8, 1.0);
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < of.trials; ++i) seconds.push_back(portable_exp(sigma * rng.normal()));
  std::vector<double> sorted = seconds;
  std::ranges::sort(sorted);
  const double resize = 0.05 * sorted[sorted.size() / 2];
  std::vector<Arrival> group;
  for (std::int64_t i = 0; i < of.trials; ++i) {
    const double serial = rng.uniform(0.05, 0.2), busy = rng.uniform(of.least_busy, of.most_busy);
    const Prediction trial = plan::prediction_of(seconds[static_cast<std::size_t>(i)], serial, busy, 0, resize);
    group.push_back({i, trial, trial, {}});
  }
  return group;
}

/// Runs the cases of single groups.
Result<void> groups(const BenchRequest& request, const std::set<std::string>& requested, std::ostream& out) {
  const auto policies = schedulers();
  std::vector<std::string> arms;
  for (const auto& policy : policies) arms.emplace_back(policy->name());
  for (const GroupCase& of : {GroupCase{8, 16, 0.4, 0.9}, GroupCase{16, 16, 0.4, 0.9}, GroupCase{32, 16, 0.3, 0.8},
                              GroupCase{64, 16, 0.3, 0.8}, GroupCase{128, 16, 0.3, 0.8}, GroupCase{32, 16, 0.9, 1.0}}) {
    const std::string name = "group-" + std::to_string(of.trials) + "-of-" + std::to_string(of.workers) +
                             (of.least_busy > 0.8 ? "-busy" : "");
    if (!requested.empty() && !requested.contains(name)) continue;
    Cluster cluster;
    cluster.workers = of.workers;
    std::vector<std::vector<Ratio>> ratios(policies.size());
    const int seeds = request.seeds > 0 ? request.seeds : kGroups;
    for (int seed = 0; seed < seeds; ++seed) {
      const auto group = random_group(Rng(static_cast<std::uint64_t>(seed)).split(name), of);
      std::vector<Prediction> trials;
      for (const Arrival& each : group) trials.push_back(each.actual);
      const auto bounds = plan::bounds_of(trials, cluster);
      for (std::size_t a = 0; a < policies.size(); ++a) {
        plan::SingleGroup source(group);
        LANISTA_ASSIGN(const auto simulation, plan::simulate(cluster, source, *policies[a]));
        LANISTA_ASSIGN(const Ratio ratio, over_bound(simulation.makespan, {bounds.dual, bounds.best()}, arms[a]));
        ratios[a].push_back(ratio);
      }
    }
    print_case(name, arms, ratios, request, out);
  }
  return {};
}

/// Runs the cases of whole tuning algorithms.
Result<void> jobs(const BenchRequest& request, const std::set<std::string>& requested, std::ostream& out) {
  const auto policies = schedulers();
  std::vector<std::string> arms;
  for (const auto& policy : policies) arms.emplace_back(policy->name());
  for (const std::string& algorithm : tuning_jobs()) {
    for (const std::int64_t workers : {4, 8, 16, 32, 64}) {
      const std::string name = algorithm + "-" + std::to_string(workers);
      if (!requested.empty() && !requested.contains(name)) continue;
      Cluster cluster;
      cluster.workers = workers;
      std::vector<std::vector<Ratio>> ratios(policies.size());
      const int seeds = request.seeds > 0 ? request.seeds : kJobs;
      for (int seed = 0; seed < seeds; ++seed) {
        for (std::size_t a = 0; a < policies.size(); ++a) {
          const auto job = make_tuning_job(algorithm, static_cast<std::uint64_t>(seed), {});
          LANISTA_ASSIGN(const auto simulation, plan::simulate(cluster, *job, *policies[a]));
          LANISTA_ASSIGN(const Ratio ratio, over_bound(simulation.makespan, job->limit(cluster), arms[a]));
          ratios[a].push_back(ratio);
        }
      }
      print_case(name, arms, ratios, request, out);
    }
  }
  return {};
}

/// A random group for the worst case, with actual and predicted times.
std::vector<Arrival> group_with_wrong_predictions(Rng rng, std::int64_t count) {
  const double sigma = rng.uniform(0.2, 1.2), least_busy = rng.uniform(0.2, 0.9), resize = rng.uniform(0, 0.3);
  std::vector<Arrival> group;
  for (std::int64_t i = 0; i < count; ++i) {
    const double seconds = portable_exp(sigma * rng.normal()), serial = rng.uniform(0.05, 0.2);
    const Prediction actual = plan::prediction_of(seconds, serial, rng.uniform(least_busy, 1), 0, resize * seconds);
    Prediction expected = actual;
    expected.steps = rng.uniform(0.5, 1.5);
    expected.resize *= rng.uniform(0.5, 1.5);
    expected.error = 0.5;
    group.push_back({i, expected, actual, {}});
  }
  return group;
}

/// Runs the cases with wrong predictions.
Result<void> worst(const BenchRequest& request, const std::set<std::string>& requested, std::ostream& out) {
  const auto policies = schedulers();
  const int count = request.seeds > 0 ? request.seeds : kWorstCaseGroups;
  struct Variant {
    const char* name;
    double learn_after;
    bool reports_pace;
  };
  // A `learn_after` above 1 means that predictions are never corrected.
  for (const auto& [name, learn_after, reports_pace] : {Variant{"worst-errors-stay", 2, true},
                                                        {"worst-errors-seen-after-5%", 0.05, true},
                                                        {"worst-nothing-seen", 2, false}}) {
    if (!requested.empty() && !requested.contains(name)) continue;
    std::vector<std::vector<double>> ratios(policies.size());
    for (int k = 0; k < count; ++k) {
      Rng rng = Rng(request.seed).split(static_cast<std::uint64_t>(k));
      Cluster cluster;
      cluster.workers = rng.between(1, 16);
      const auto group = group_with_wrong_predictions(rng.split("trials"), rng.between(1, 48));
      plan::SimulationOptions options;
      options.learn_after = learn_after;
      options.reports_pace = reports_pace;
      double first = 0;
      for (std::size_t a = 0; a < policies.size(); ++a) {
        plan::SingleGroup source(group);
        LANISTA_ASSIGN(const auto simulation, plan::simulate(cluster, source, *policies[a], options));
        if (a == 0) first = simulation.makespan;
        ratios[a].push_back(simulation.makespan / first);
      }
    }
    for (std::size_t a = 1; a < policies.size(); ++a) {
      const MeanAndDeviation mean = mean_of(ratios[a]);
      const std::string arm(policies[a]->name());
      const auto over = std::ranges::count_if(ratios[a], [](double ratio) { return ratio > 1.02; });
      print({"fluid", name, arm, "worst of fifo", std::ranges::max(ratios[a]), 0, count}, request.json, out);
      print({"fluid", name, arm, "mean of fifo", mean.mean, mean.deviation, count}, request.json, out);
      print({"fluid", name, arm, "groups over 1.02", static_cast<double>(over), 0, count}, request.json, out);
    }
    out << std::flush;
  }
  return {};
}

}  // namespace

Result<void> fluid(const BenchRequest& request, std::ostream& out) {
  const std::set<std::string> requested(request.cases.begin(), request.cases.end());
  if (request.worst) return worst(request, requested, out);
  LANISTA_TRY(groups(request, requested, out));
  return jobs(request, requested, out);
}

}  // namespace lanista::bench
