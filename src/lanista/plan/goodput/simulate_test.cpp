#include "lanista/plan/goodput/simulate.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "lanista/base/rng.h"
#include "lanista/plan/goodput/bounds.h"
#include "lanista/plan/goodput/policies.h"
#include "support/plan/goodput/test_support.h"

namespace lanista::goodput {
namespace {

Workload workload_of(const std::string& rows) {
  MemoryFileSystem fs;
  write_net(fs);
  write_text(fs, "w.csv", "name,time,application,num_replicas,batch_size\n" + rows);
  auto workload = read_workload(fs, "w.csv", "data");
  LANISTA_CHECK(workload.ok(), workload ? "" : workload.error().text());
  return *std::move(workload);
}

std::string crowd(int jobs) {
  std::string rows;
  Rng rng(1);
  for (int i = 0; i < jobs; ++i) {
    rows += "net-" + std::to_string(i) + "," + std::to_string(rng.below(1200)) + ",net," +
            std::to_string(1 + rng.below(8)) + ",256\n";
  }
  return rows;
}

Result<ClusterResult> run(const Workload& workload, const std::string& name) {
  const NamedPolicy* policy = find_policy(name);
  LANISTA_CHECK(policy != nullptr, name);
  const auto allocator = policy->make(0);
  return simulate(workload, *allocator, policy->options);
}

TEST(ScatteredTable, IsExactForLinearFunctionsAndEmptyOutside) {
  std::vector<GridPoint> points;
  std::vector<StepTimes> values;
  const auto plane = [](const GridPoint& p) {
    return StepTimes{1 + 2.0 * p[0] - 0.5 * p[1] + 0.01 * p[2], 3.0 * p[0] + p[1]};
  };
  for (const int n : {1, 2, 4, 8}) {
    for (const int k : {1, 2, 5, 9}) {
      for (const int m : {4, 8, 100}) points.push_back({n, k, m});
    }
  }
  for (const GridPoint& p : points) values.push_back(plane(p));
  const ScatteredTable table(points, values);
  Rng rng(1);
  for (int i = 0; i < 300; ++i) {
    const GridPoint q{static_cast<std::int32_t>(rng.between(1, 8)), static_cast<std::int32_t>(rng.between(1, 9)),
                      static_cast<std::int32_t>(rng.between(4, 100))};
    const auto at = table.at(q);
    ASSERT_TRUE(at.has_value());
    EXPECT_NEAR(at->step, plane(q).step, 1e-9);
    EXPECT_NEAR(at->sync, plane(q).sync, 1e-9);
  }
  EXPECT_FALSE(table.at({9, 5, 8}).has_value());
  EXPECT_FALSE(table.at({4, 5, 3}).has_value());
}

TEST(ScatteredTable, StaysBetweenTheValuesOfItsCell) {
  Rng rng(2);
  std::vector<GridPoint> points;
  std::vector<StepTimes> values;
  for (int n = 1; n <= 4; ++n) {
    for (int k = 1; k <= 4; ++k) {
      for (const int m : {1, 2, 4}) {
        points.push_back({n, k, m});
        values.push_back({static_cast<double>(n), rng.uniform()});
      }
    }
  }
  const ScatteredTable table(points, values);
  for (int n = 1; n <= 4; ++n) EXPECT_NEAR(table.at({n, 2, 3})->step, n, 1e-9);
  for (std::size_t i = 0; i < points.size(); ++i) EXPECT_NEAR(table.at(points[i])->sync, values[i].sync, 1e-12);
}

TEST(ScatteredTable, DividesABoxIntoSixSimplices) {
  // A box of a grid is divided into six simplices, one for each path along its edges from the first corner to the last.
  // Each step of the path is along the axis with the largest remaining part.
  Rng rng(3);
  const std::int32_t xs[] = {1, 6, 9}, ys[] = {2, 4, 11}, zs[] = {0, 8, 15};
  std::vector<GridPoint> points;
  std::vector<StepTimes> values;
  for (const int x : xs) {
    for (const int y : ys) {
      for (const int z : zs) {
        points.push_back({x, y, z});
        values.push_back({rng.uniform(), rng.uniform()});
      }
    }
  }
  const ScatteredTable table(points, values);
  const auto value_at = [&](const std::array<std::size_t, 3>& i) { return values[i[0] * 9 + i[1] * 3 + i[2]]; };
  for (int round = 0; round < 300; ++round) {
    const GridPoint q{static_cast<std::int32_t>(rng.between(1, 9)), static_cast<std::int32_t>(rng.between(2, 11)),
                      static_cast<std::int32_t>(rng.between(0, 15))};
    std::array<std::size_t, 3> corner{};
    std::vector<std::pair<double, std::size_t>> parts;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int32_t* marks = axis == 0 ? xs : axis == 1 ? ys : zs;
      corner[axis] = q[axis] >= marks[1] ? 1 : 0;
      const double low = marks[corner[axis]], high = marks[corner[axis] + 1];
      parts.emplace_back((q[axis] - low) / (high - low), axis);
    }
    std::ranges::sort(parts, std::greater<>());
    double step = 0, sync = 0, before = 1;
    for (std::size_t i = 0; i <= 3; ++i) {
      const double weight = before - (i < 3 ? parts[i].first : 0);
      step += weight * value_at(corner).step;
      sync += weight * value_at(corner).sync;
      if (i == 3) break;
      before = parts[i].first;
      ++corner[parts[i].second];
    }
    const auto at = table.at(q);
    ASSERT_TRUE(at.has_value());
    EXPECT_NEAR(at->step, step, 1e-9);
    EXPECT_NEAR(at->sync, sync, 1e-9);
  }
}

TEST(Simulation, MatchesAManualCalculationForOneRigidJob) {
  // Two replicas of 128 samples in two halves: a step of 0.1 + 0.64 + 0.05 s and an accumulation of 0.74 s. M0 is 32,
  // so the scale is 8.
  const Workload workload = workload_of("a,100,net,2,256\n");
  double end = 150;  // It arrives at 100 s, gets devices at 120 s, and starts 30 s later.
  const double gains[] = {(3 + 1) / (3.0 / 8 + 1), (6 + 1) / (6.0 / 8 + 1), (11 + 1) / (11.0 / 8 + 1)};
  for (const double gain : gains) end += std::nearbyint(100 / (gain / 1.53));
  const auto result = run(workload, "tiresias");
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->jobs[0].ended, end);
  EXPECT_EQ(result->mean_completion(), end - 100);
  EXPECT_EQ(result->jobs[0].restarts, 0);
}

TEST(Simulation, KeepsTheBoundAndRepeatsForEveryPolicy) {
  const Workload workload = workload_of(crowd(6));
  const double bound = bounds_of(workload, {}).best();
  EXPECT_GT(bound, 0);
  for (const NamedPolicy& policy : policies()) {
    const auto result = run(workload, policy.name), again = run(workload, policy.name);
    ASSERT_TRUE(result && again) << policy.name << (result ? "" : result.error().text());
    EXPECT_GE(result->mean_completion(), 0.98 * bound) << policy.name;
    EXPECT_EQ(result->mean_completion(), again->mean_completion()) << policy.name;
    EXPECT_GE(result->completion_quantile(1), result->completion_quantile(0.5));
    EXPECT_GE(result->makespan, result->completion_quantile(1));
  }
}

/// Gives all devices to every job.
class OverallocatingAllocator : public Allocator {
 public:
  std::string_view name() const override { return "greedy"; }
  std::vector<Allocation> allocate(const AllocatorState& state) override {
    return std::vector<Allocation>(state.jobs.size(), Allocation{{0, 4}});
  }
};
class StarvingAllocator : public Allocator {
 public:
  std::string_view name() const override { return "miser"; }
  std::vector<Allocation> allocate(const AllocatorState& state) override {
    return std::vector<Allocation>(state.jobs.size());
  }
};

TEST(Simulation, RefusesAllocatorsThatGiveTooMuchOrNothing) {
  const Workload workload = workload_of("a,0,net,1,32\nb,0,net,1,32\n");
  OverallocatingAllocator greedy;
  const auto refused = simulate(workload, greedy);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("greedy: allocation of job 1: node 0 would give 8"), std::string::npos);
  StarvingAllocator miser;
  SimulationOptions options;
  options.until = 600;
  EXPECT_EQ(simulate(workload, miser, options).error().code, Code::kFailedPrecondition);
}

TEST(Simulation, ChargesForRestartsAndInterference) {
  const Workload workload = workload_of(crowd(12));
  const NamedPolicy* policy = find_policy("exact");
  const auto mean_with = [&](auto change) {
    SimulationOptions options = policy->options;
    change(options);
    return simulate(workload, *policy->make(0), options)->mean_completion();
  };
  const double usual = mean_with([](SimulationOptions&) {});
  EXPECT_GT(mean_with([](SimulationOptions& o) { o.restart_seconds = 120; }), usual);
  EXPECT_EQ(mean_with([](SimulationOptions& o) { o.interference = 0.5; }), usual) << "no two jobs share a node";
}

TEST(Traces, ReportTheWrongCell) {
  const auto error_of = [](const std::string& path, const std::string& text, const std::string& rows) {
    MemoryFileSystem fs;
    write_net(fs);
    write_text(fs, "w.csv", "name,time,application,num_replicas,batch_size\n" + rows);
    if (!path.empty()) write_text(fs, path, text);
    const auto workload = read_workload(fs, "w.csv", "data");
    return workload ? std::string("fine") : workload.error().text();
  };
  const std::string good = "a,0,net,1,32\n";
  EXPECT_EQ(error_of("", "", good), "fine");
  EXPECT_NE(error_of("", "", "a,0,nut,1,32\n").find("nut"), std::string::npos);
  EXPECT_NE(error_of("", "", "a,0,../net,1,32\n").find("application is '../net'"), std::string::npos);
  EXPECT_NE(error_of("", "", "a,0,net,0,32\n").find("num_replicas is '0'"), std::string::npos);
  EXPECT_NE(error_of("", "", "a,0,net,1,512\n").find("batch_size is '512'"), std::string::npos);
  EXPECT_NE(error_of("", "", "a,nan,net,1,32\n").find("time is 'nan'"), std::string::npos);
  EXPECT_NE(error_of("", "", "").find("has no jobs"), std::string::npos);
  EXPECT_NE(error_of("data/traces/net/placements.csv", "placement,local_bsz,step_time,sync_time\n1x,8,1,0\n", good)
                .find("placement is '1x'"),
            std::string::npos);
  EXPECT_NE(
      error_of("data/traces/net/validation-64.csv", "progress,iteration,grad_sqr,grad_var\n5,1,1,1\n4,2,1,1\n", good)
          .find("row 2: progress is '4'"),
      std::string::npos);
  EXPECT_NE(error_of("data/traces/net/validation-x.csv", "", good).find("needs a batch size"), std::string::npos);
  EXPECT_NE(error_of("data/traces/net/scalability.csv", "num_nodes\n1\n", good).find("num_replicas"),
            std::string::npos);
}

TEST(Traces, InterpolateTheBatchesOfAPlacement) {
  MemoryFileSystem fs;
  write_net(fs);
  write_text(fs, "data/traces/net/placements.csv",
             "placement,local_bsz,step_time,sync_time\n"
             "123,16,5,3\n123,8,1,0.5\n123,64,6,4\n1,8,1,0\n4,64,9,0\n44,8,1,0\n44,64,9,0\n");
  const auto net = read_application(fs, "data/traces", "net");
  ASSERT_TRUE(net) << net.error().text();
  const auto at = [&](const std::vector<std::int32_t>& placement, std::int64_t local) {
    return net->step_times(placement, local);
  };
  for (const std::vector<std::int32_t>& ring :
       std::vector<std::vector<std::int32_t>>{{1, 2, 3}, {2, 3, 1}, {3, 1, 2}}) {
    EXPECT_EQ(at(ring, 4), (StepTimes{1, 0.5})) << "the smallest measured batch";
    EXPECT_EQ(at(ring, 8), (StepTimes{1, 0.5}));
    EXPECT_EQ(at(ring, 10), (StepTimes{2, 1.125}));
    EXPECT_EQ(at(ring, 16), (StepTimes{5, 3}));
    EXPECT_EQ(at(ring, 28), (StepTimes{5.25, 3.25}));
    EXPECT_EQ(at(ring, 100), (StepTimes{6, 4})) << "the largest measured batch";
  }
}

TEST(Traces, UseExactTimesBetweenThePoints) {
  MemoryFileSystem fs;
  write_net(fs);
  const std::vector<std::int32_t> placement{4, 4, 3};
  const auto own = read_application(fs, "data/traces", "net")->step_times(placement, 16);
  write_text(fs, "data/traces/net/between.csv", "num_nodes,num_replicas,local_bsz,step_time,sync_time\n3,11,16,7,2\n");
  const auto exact = read_application(fs, "data/traces", "net")->step_times(placement, 16);
  EXPECT_NE(own, exact);
  EXPECT_EQ(exact, (StepTimes{7, 2}));
}

/// The published means of the artefact's simulator. The test needs its traces with between.csv
/// (docs/concepts/goodput.md).
TEST(Simulation, MatchesTheArtefactToTheLastDigit) {
  const char* folder = std::getenv("LANISTA_POLLUX_DATA");
  if (folder == nullptr)
    GTEST_SKIP() << "LANISTA_POLLUX_DATA is not set; it must be the folder of the artefact's traces";
  const auto workload = read_workload(real_file_system(), std::string(folder) + "/workloads/workload-6.csv", folder);
  ASSERT_TRUE(workload) << workload.error().text();
  EXPECT_EQ(run(*workload, "tiresias")->mean_completion(), 3469.69375);
  EXPECT_EQ(run(*workload, "optimus")->mean_completion(), 5301.875);
}

}  // namespace
}  // namespace lanista::goodput
