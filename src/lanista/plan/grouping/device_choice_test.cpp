#include "lanista/plan/grouping/device_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::plan {
namespace {

constexpr double kUnlimited = 1e300;  // One trial is as fast as all together.

/// Returns the seconds until all devices have finished, with trials assigned one by one by choose_device.
double chosen(const std::vector<double>& speeds, const std::vector<double>& trials) {
  std::vector<DeviceLoad> devices;
  for (const double speed : speeds) devices.push_back({{.alone = kUnlimited, .together = speed}});
  for (const double work : trials) devices[choose_device(devices, work)].work += work;
  double last = 0;
  for (const DeviceLoad& device : devices) last = std::max(last, device.work / device.speed.together);
  return last;
}

/// Returns the seconds of the best of all assignments.
double best(const std::vector<double>& speeds, const std::vector<double>& trials) {
  double least = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> where(trials.size(), 0);
  while (true) {
    std::vector<double> work(speeds.size(), 0);
    for (std::size_t t = 0; t < trials.size(); ++t) work[where[t]] += trials[t];
    double last = 0;
    for (std::size_t d = 0; d < speeds.size(); ++d) last = std::max(last, work[d] / speeds[d]);
    least = std::min(least, last);
    std::size_t t = 0;
    while (t < where.size() && ++where[t] == speeds.size()) where[t++] = 0;
    if (t == where.size()) return least;
  }
}

/// Returns a log-uniform number.
double random_number(Rng& rng, double least, double most) { return least * std::pow(most / least, rng.uniform()); }

// Horowitz and Sahni, 1976: for equal trials no assignment ends sooner.
TEST(DeviceChoice, IsOptimalForEqualTrials) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    const std::vector<double> speeds{1, random_number(rng, 1, 16), random_number(rng, 1, 16)};
    const std::vector<double> trials(static_cast<std::size_t>(rng.between(1, 7)), random_number(rng, 0.1, 10));
    ASSERT_NEAR(chosen(speeds, trials) / best(speeds, trials), 1, 1e-12) << round;
  }
}

// Cho and Sahni, 1980: on two devices the end is within the golden ratio of the best, for any order of trials.
TEST(DeviceChoice, IsWithinTheGoldenRatioOnTwoDevices) {
  Rng rng(2);
  double worst = 1, sum = 0;
  constexpr int kRounds = 400;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<double> speeds{1, random_number(rng, 1, 16)};
    std::vector<double> trials(12);
    for (double& work : trials) work = random_number(rng, 1, 8);
    const double ratio = chosen(speeds, trials) / best(speeds, trials);
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  EXPECT_GE(sum / kRounds, 1);
  EXPECT_LE(worst, (1 + std::sqrt(5)) / 2);
  EXPECT_LE(sum / kRounds, 1.06);
}

// In a search with many trials, the last trial is small relative to all. No assignment ends before all work divided by
// the speed of all devices.
TEST(DeviceChoice, IsWithinAFewPercentForAWholeSearch) {
  Rng rng(3);
  for (const std::size_t number : {60U, 240U}) {
    double sum = 0, worst = 1;
    constexpr int kRounds = 200;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<double> speeds{1, random_number(rng, 1, 16), random_number(rng, 1, 16)};
      speeds.resize(static_cast<std::size_t>(rng.between(2, 3)));
      std::vector<double> trials(number);
      for (double& work : trials) work = random_number(rng, 1, 8);
      const double all =
          std::accumulate(trials.begin(), trials.end(), 0.0) / std::accumulate(speeds.begin(), speeds.end(), 0.0);
      const double ratio = chosen(speeds, trials) / all;
      sum += ratio;
      worst = std::max(worst, ratio);
    }
    EXPECT_GT(sum / kRounds, 1);
    EXPECT_LE(sum / kRounds, 1 + 1.0 / static_cast<double>(number)) << number;
    EXPECT_LE(worst, 1 + 4.0 / static_cast<double>(number)) << number;
  }
}

TEST(DeviceChoice, SkipsASlowDeviceThatWouldEndLast) {
  // The GPU is 12 times as fast with lanes, and 1.5 times as fast with one trial.
  const DeviceSpeed cpu{.alone = 1, .together = 2}, gpu{.alone = 1.5, .together = 24};
  const auto chosen_behind = [&](double of_cpu, double of_gpu) {
    return choose_device(std::vector<DeviceLoad>{{cpu, of_cpu}, {gpu, of_gpu}}, 1);
  };
  EXPECT_EQ(chosen_behind(0, 0), 1U);   // Both are idle; the GPU is faster for one trial.
  EXPECT_EQ(chosen_behind(0, 20), 1U);  // 21 / 24 s is less than 1 s.
  EXPECT_EQ(chosen_behind(0, 24), 0U);
  EXPECT_EQ(chosen_behind(1.5, 24), 1U);  // After its other work the CPU would end at 1.25 s.
  EXPECT_EQ(choose_device(std::vector<DeviceLoad>{{cpu, 3}, {cpu, 3}}, 1), 0U);  // Of equal devices the first.
}

}  // namespace
}  // namespace lanista::plan
