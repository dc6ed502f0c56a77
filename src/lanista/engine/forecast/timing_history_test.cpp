// Effects of sharing in times of earlier studies: rows follow a law, which the history must find.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/engine/forecast/cluster_file.h"
#include "lanista/engine/forecast/timing_history.h"

namespace lanista::engine {
namespace {

study::Profile row(const std::string& program, std::int64_t width, std::int64_t lanes, double step) {
  study::Profile out;
  out.shape.program = program;
  out.shape.batch = 32;
  out.shape.operators = 3;
  out.shape.widest = 64;
  out.shape.parameters = 5000;
  out.shape.flops = 10000;
  out.shape.bytes = 4000;
  out.device = "a CPU";
  out.width = width;
  out.lanes = lanes;
  out.spans = 10;
  out.step = step;
  return out;
}

TimingHistory history_of(std::vector<study::Profile> rows) {
  store::StudyProfiles of_study;
  of_study.rows = std::move(rows);
  return TimingHistory({of_study}, "a CPU");
}

TEST(TimingHistory, MeasureInterference) {
  const Rng root(31);
  for (std::uint64_t number = 0; number < 50; ++number) {
    Rng rng = root.split(number);
    const double law = rng.uniform(0, 0.3);
    std::vector<study::Profile> rows;
    for (int program = 0; program < 5; ++program) {
      const std::string name = "p" + std::to_string(program);
      const double alone = rng.uniform(1e-5, 1e-2);
      const std::int64_t most = rng.between(2, 16);
      rows.push_back(row(name, 1, 1, alone));
      rows.push_back(row(name, 1, most, alone * (1 + law * static_cast<double>(most - 1))));
      rows.push_back(row(name, 2, 1, alone * 0.6));  // helped, not shared
    }
    const auto fraction = history_of(rows).interference_fraction();
    ASSERT_TRUE(fraction);
    EXPECT_NEAR(*fraction, law, 1e-9);
  }
}

TEST(TimingHistory, HaveNoNegativeOrUnmeasuredInterference) {
  EXPECT_EQ(history_of({row("p", 1, 1, 1e-3), row("p", 1, 4, 0.8e-3)}).interference_fraction(), 0.0);
  EXPECT_FALSE(history_of({row("p", 1, 1, 1e-3), row("q", 1, 4, 2e-3)}).interference_fraction());
  EXPECT_FALSE(history_of({row("p", 1, 2, 1e-3), row("p", 1, 4, 2e-3)}).interference_fraction());
  EXPECT_FALSE(TimingHistory().interference_fraction());
}

TEST(TimingHistory, AreOverriddenByClusterFile) {
  const auto with_interference = read_cluster("workers: 4\ninterference: 0.3\n", "cluster.yaml");
  const auto without_interference = read_cluster("workers: 4\n", "cluster.yaml");
  ASSERT_TRUE(with_interference && without_interference);
  EXPECT_EQ(with_interference->with_defaults({}, {}, 0.1).cluster.interference, 0.3);
  EXPECT_EQ(without_interference->with_defaults({}, {}, 0.1).cluster.interference, 0.1);
  EXPECT_EQ(without_interference->with_defaults({}, {}, {}).cluster.interference, 0.02);
}

}  // namespace
}  // namespace lanista::engine
