#include "bench/speedup.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

namespace lanista::bench {
namespace {

TEST(Speedup, TakesEnoughSamplesAndNamesCase) {
  const BenchRow row = machine_speedup_row("fuse", 1);
  EXPECT_EQ(row.bench + " " + row.case_name + " " + row.arm + " " + row.unit, "fuse machine speedup-2 x");
  EXPECT_EQ(row.repeats, 15);
  EXPECT_GT(row.value, 0);
}

TEST(Speedup, RunsSecondWorkOnOneOtherThread) {
  std::set<std::thread::id> alone, second_alone, second;
  const auto note = [](std::set<std::thread::id>& ids) { return [&ids] { ids.insert(std::this_thread::get_id()); }; };
  speedup_row("fuse", "mlp-64/1", {{note(alone)}, {note(second_alone)}, {{note(alone)}, {note(second)}}}, 1);
  EXPECT_EQ(alone, std::set{std::this_thread::get_id()});
  EXPECT_EQ(second_alone.size(), 1U);
  EXPECT_EQ(second_alone, second);
  EXPECT_NE(second_alone, alone);
}

// The works of both threads need the same time, but that of the second counts for 3,000 models. The bounds allow for a
// machine that is ten times slower in one of the two measurements.
TEST(Speedup, CountsModels) {
  const auto sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(40)); };
  const BenchRow row = speedup_row("fuse", "mlp-64/2", {{sleep}, {sleep}, {{sleep}, {sleep, 3000}}}, 1);
  EXPECT_GT(row.value, 300);
  EXPECT_LT(row.value, 30'000);
}

}  // namespace
}  // namespace lanista::bench
