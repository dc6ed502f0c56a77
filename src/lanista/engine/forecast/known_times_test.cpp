// What times of studies that were say of sharing: rows are made by a law, which comes out again.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/engine/forecast/cluster_file.h"
#include "lanista/engine/forecast/profiles.h"

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

KnownTimes known(std::vector<study::Profile> rows) {
  store::StudyProfiles of_study;
  of_study.rows = std::move(rows);
  return KnownTimes({of_study}, "a CPU");
}

TEST(KnownTimes, TellWhatSharingAWorkerCosts) {
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
    const auto told = known(rows).interference();
    ASSERT_TRUE(told);
    EXPECT_NEAR(*told, law, 1e-9);
  }
}

TEST(KnownTimes, NeverTellThatSharingSpeedsUpNorWhatNobodyMeasured) {
  EXPECT_EQ(known({row("p", 1, 1, 1e-3), row("p", 1, 4, 0.8e-3)}).interference(), 0.0);
  EXPECT_FALSE(known({row("p", 1, 1, 1e-3), row("q", 1, 4, 2e-3)}).interference());
  EXPECT_FALSE(known({row("p", 1, 2, 1e-3), row("p", 1, 4, 2e-3)}).interference());
  EXPECT_FALSE(KnownTimes().interference());
}

TEST(KnownTimes, GiveWayToWhatAClusterFileSays) {
  const auto says = read_cluster("workers: 4\ninterference: 0.3\n", "cluster.yaml");
  const auto says_not = read_cluster("workers: 4\n", "cluster.yaml");
  ASSERT_TRUE(says && says_not);
  EXPECT_EQ(says->settled({}, {}, 0.1).cluster.interference, 0.3);
  EXPECT_EQ(says_not->settled({}, {}, 0.1).cluster.interference, 0.1);
  EXPECT_EQ(says_not->settled({}, {}, {}).cluster.interference, 0.02);
}

}  // namespace
}  // namespace lanista::engine
