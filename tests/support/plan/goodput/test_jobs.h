#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/plan/goodput/allocation.h"

// Jobs for tests of allocators.
namespace lanista::goodput {

/// Random jobs, each with its own model.
struct RandomJobs {
  std::deque<GoodputTable> tables;
  std::vector<JobView> views;
  std::vector<Allocation> current;
  Nodes nodes{2, 4};

  RandomJobs(std::size_t jobs, Rng rng, Nodes where) : nodes(where) {
    for (std::size_t j = 0; j < jobs; ++j) {
      JobModel model;
      model.throughput = {
          rng.uniform(0.05, 0.2), 0.01, rng.uniform(0.05, 0.5), 0.002, rng.uniform(0.01, 0.1), 0.001, 1};
      model.gradients = {1, rng.uniform(1, 100)};
      model.limits = {32, 2048, 8, 128};
      tables.emplace_back(model);
      JobView view;
      view.id = static_cast<std::int64_t>(j);
      view.age = rng.uniform(100, 5000);
      view.most = 8;
      view.wanted = 2;
      view.service = rng.uniform(0, 1000);
      view.goodput = &tables.back();
      views.push_back(view);
    }
    current.resize(jobs);
  }
  /// Returns the input of an allocator.
  AllocatorState state() const { return {1000, nodes, 30, views, current}; }
  /// Returns Pollux's fitness of packed device counts, for jobs that are all new.
  double cost(const std::vector<std::int32_t>& counts) const {
    const double fair = std::ceil(static_cast<double>(nodes.total()) / static_cast<double>(views.size()));
    double sum = 0;
    for (std::size_t j = 0; j < views.size(); ++j) {
      const double unit = tables[j].at(1, static_cast<std::int64_t>(fair));
      double s = tables[j].packed(counts[j], nodes.devices) / unit * nodes.count / nodes.total();
      if (counts[j] != devices_of(current[j])) s *= views[j].age / (views[j].age + 30);
      sum += 1 / (s + 1e-3);
    }
    return sum / static_cast<double>(views.size());
  }
};

/// Returns the devices of each job.
inline std::vector<std::int32_t> counts_of(const std::vector<Allocation>& all) {
  std::vector<std::int32_t> counts;
  for (const Allocation& allocation : all) counts.push_back(devices_of(allocation));
  return counts;
}

}  // namespace lanista::goodput
