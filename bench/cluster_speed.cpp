#include <algorithm>
#include <ostream>

#include "bench/arms.h"
#include "bench/cluster.h"
#include "lanista/base/rng.h"
#include "lanista/plan/goodput/fit.h"
#include "lanista/plan/goodput/knapsack_allocator.h"

namespace lanista::bench {
namespace {

using goodput::GoodputTable;
using goodput::JobView;

goodput::ThroughputModel random_model(Rng& rng) {
  return {rng.uniform(0.01, 0.2), rng.uniform(0.001, 0.01),  rng.uniform(0.05, 0.5), rng.uniform(0.0001, 0.01),
          rng.uniform(0.01, 0.1), rng.uniform(0.0001, 0.01), rng.uniform(1, 4)};
}

std::vector<goodput::StepSample> random_samples(Rng rng) {
  const auto model = random_model(rng);
  std::vector<goodput::StepSample> samples;
  for (const std::int64_t replicas : {1, 2, 4, 8, 16}) {
    for (const std::int64_t local : {16, 32, 64, 128}) {
      const std::int64_t nodes = (replicas + 3) / 4;
      const double noise = 1 + 0.03 * rng.normal(), m = static_cast<double>(local);
      samples.push_back({nodes, replicas, local, model.accumulation_seconds(m) * noise,
                         model.step_seconds(nodes, replicas, m) * noise});
    }
  }
  return samples;
}

/// Median milliseconds of a decision for `jobs` jobs, of which the first `known` have a goodput model; -1 if it fails.
double decision_ms(std::int64_t jobs, std::int64_t known, int repeats) {
  Rng rng(7);
  std::vector<GoodputTable> tables;
  for (std::int64_t j = 0; j < known; ++j) {
    goodput::JobModel model{random_model(rng), {1, rng.uniform(1, 100)}, {128, 4096, 32, 1024}, {}, 0};
    tables.emplace_back(model);
  }
  std::vector<JobView> views;
  for (std::int64_t j = 0; j < jobs; ++j) {
    JobView view;
    view.id = j;
    view.kind = j % 6;
    view.age = rng.uniform(0, 10'000);
    view.goodput_service = j < known ? rng.uniform(0, 1e6) : 0;
    view.most = j < known ? 64 : 1;
    view.goodput = j < known ? &tables[static_cast<std::size_t>(j)] : nullptr;
    views.push_back(view);
  }
  const std::vector<goodput::Allocation> current(views.size());
  const auto allocator = goodput::knapsack_allocator({.goal = goodput::Goal::kFinish});
  const goodput::AllocatorState situation{0, {}, 30, views, current};
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const double begin = now_seconds();
    if (allocator->allocate(situation).size() != views.size()) return -1;
    times.push_back((now_seconds() - begin) * 1e3);
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

}  // namespace

Result<void> cluster_speed(const BenchRequest& request, std::ostream& out) {
  const int repeats = request.repeats > 0 ? request.repeats : 21;
  std::vector<double> fits, evaluations;
  for (int i = 0; i < repeats; ++i) {
    const auto samples = random_samples(Rng(3).split(static_cast<std::uint64_t>(i)));
    const double begin = now_seconds();
    const auto fit = goodput::fit_throughput(samples);
    fits.push_back((now_seconds() - begin) * 1e3);
    evaluations.push_back(fit.evaluations);
  }
  print(summary("cluster", "fit-of-20", "ours", "ms", fits), request.json, out);
  print(summary("cluster", "fit-of-20", "evaluations", "", evaluations), request.json, out);
  print({"cluster", "allocate-160", "ours", "ms", decision_ms(160, 160, repeats), 0, repeats}, request.json, out);
  print({"cluster", "queue-10000", "ours", "ms", decision_ms(10'000, 160, repeats), 0, repeats}, request.json, out);
  return {};
}

}  // namespace lanista::bench
