#include "lanista/exec/program/cpu_speed.h"

#include <gtest/gtest.h>

namespace lanista::program {
namespace {

TEST(CpuSpeed, MeasuresPeakAndEveryCacheLevel) {
  const CpuSpeed speed = measure_cpu_speed(kernels::Isa::kPortable);

  EXPECT_EQ(speed.isa, kernels::Isa::kPortable);
  EXPECT_GT(speed.peak_gflops, 0);
  ASSERT_FALSE(speed.memory.empty());
  EXPECT_EQ(speed.memory.back().level, "memory");
  for (const auto& level : speed.memory) {
    EXPECT_GT(level.gb_per_second, 0) << level.level;
  }
  for (std::size_t i = 1; i + 1 < speed.memory.size(); ++i) {
    EXPECT_LT(speed.memory[i - 1].bytes, speed.memory[i].bytes);
  }
}

TEST(CpuSpeed, FindsTheNearestLevelThatHoldsAWorkingSet) {
  const CpuSpeed speed{.isa = kernels::Isa::kPortable,
                       .peak_gflops = 1,
                       .memory = {{"L1", 100, 8}, {"L2", 1000, 4}, {"memory", 500, 1}}};

  EXPECT_EQ(speed.level_of(0).level, "L1");
  EXPECT_EQ(speed.level_of(100).level, "L1");
  EXPECT_EQ(speed.level_of(101).level, "L2");
  EXPECT_EQ(speed.level_of(1001).level, "memory");
}

TEST(CpuModel, IsOneLineOfText) {
  EXPECT_FALSE(cpu_model().empty());
  EXPECT_EQ(cpu_model().find('\n'), std::string::npos);
}

}  // namespace
}  // namespace lanista::program
