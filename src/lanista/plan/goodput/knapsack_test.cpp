#include "lanista/plan/goodput/knapsack.h"

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "lanista/base/rng.h"
#include "support/plan/goodput/exact_knapsack.h"

namespace lanista::goodput {
namespace {

/// Returns the choices of each job as a list. Equal lists are shared.
ChoiceLists lists_of(const std::vector<std::vector<DeviceCount>>& kinds, const std::vector<std::uint32_t>& kind_of) {
  ChoiceLists lists;
  for (const auto& kind : kinds) {
    lists.choices.insert(lists.choices.end(), kind.begin(), kind.end());
    lists.ends.push_back(lists.choices.size());
  }
  lists.list_of = kind_of;
  return lists;
}

TEST(Knapsack, IsTheBestOfAll) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    const std::int32_t total = static_cast<std::int32_t>(rng.between(1, 8));
    std::vector<std::vector<DeviceCount>> choices(static_cast<std::size_t>(rng.between(1, 5)));
    for (auto& job : choices) {
      job.push_back({0, rng.uniform(-1, 1)});
      for (const std::int32_t k : {1, 2, 4}) job.push_back({k, rng.uniform(-1, 2)});
    }
    double best = -1e300;
    const std::function<void(std::size_t, std::int32_t, double)> all = [&](std::size_t j, std::int32_t left,
                                                                           double sum) {
      if (j == choices.size()) {
        best = std::max(best, sum);
        return;
      }
      for (const DeviceCount& choice : choices[j]) {
        if (choice.devices <= left) all(j + 1, left - choice.devices, sum + choice.value);
      }
    };
    all(0, total, 0);
    std::vector<std::uint32_t> own_list(choices.size());
    std::iota(own_list.begin(), own_list.end(), 0U);
    for (const auto& counts : {solve_large(lists_of(choices, own_list), total), solve_exactly(choices, total)}) {
      ASSERT_EQ(counts.size(), choices.size());
      double sum = 0;
      std::int32_t used = 0;
      for (std::size_t j = 0; j < counts.size(); ++j) {
        used += counts[j];
        for (const DeviceCount& choice : choices[j]) sum += choice.devices == counts[j] ? choice.value : 0;
      }
      EXPECT_LE(used, total);
      EXPECT_NEAR(sum, best, 1e-12);
    }
  }
}

TEST(Knapsack, LargeSolverMatchesTheExactSolver) {
  Rng rng(12);
  int waited = 0;
  for (int round = 0; round < 1000; ++round) {
    const std::int32_t total = static_cast<std::int32_t>(rng.between(0, 12));
    std::vector<std::vector<DeviceCount>> kinds(static_cast<std::size_t>(rng.between(1, 40)));
    for (auto& kind : kinds) {
      // Some jobs have at most one device, some cannot have one, and some are better without.
      kind.push_back({0, rng.uniform(-1, 1)});
      const std::int32_t from = rng.bernoulli(0.2) ? 2 : 1, most = rng.bernoulli(0.5) ? 1 : 4;
      const double level = rng.uniform(-0.5, 2);
      for (std::int32_t k = from; k <= most; k *= 2) kind.push_back({k, level + rng.uniform(-0.5, 2) * k});
    }
    std::vector<std::uint32_t> kind_of(static_cast<std::size_t>(rng.between(0, 60)));
    for (auto& kind : kind_of) kind = static_cast<std::uint32_t>(rng.below(kinds.size()));
    std::vector<std::vector<DeviceCount>> all_lists;
    for (const std::uint32_t kind : kind_of) all_lists.push_back(kinds[kind]);
    const auto exact = solve_exactly(all_lists, total), crowd = solve_large(lists_of(kinds, kind_of), total);
    ASSERT_EQ(crowd.size(), all_lists.size());
    const auto sum_of = [&](const std::vector<std::int32_t>& counts) {
      double sum = 0;
      for (std::size_t j = 0; j < counts.size(); ++j) {
        for (const DeviceCount& choice : all_lists[j]) sum += choice.devices == counts[j] ? choice.value : 0;
      }
      return sum;
    };
    std::int32_t used = 0;
    for (const std::int32_t k : crowd) used += k;
    EXPECT_LE(used, total);
    EXPECT_NEAR(sum_of(crowd), sum_of(exact), 1e-9);
    waited += static_cast<std::int32_t>(kind_of.size()) > total;
  }
  EXPECT_GT(waited, 500);
}

TEST(Knapsack, LargeSolverPrefersTheFirstOfEquals) {
  const std::vector<std::vector<DeviceCount>> kinds{{{0, 0}, {1, 0.5}}, {{0, 0}, {1, 0.25}, {2, 1.5}}};
  std::vector<std::uint32_t> kind_of(1000, 0);
  kind_of[999] = 1;
  std::vector<std::int32_t> counts(1000, 0);
  counts[0] = counts[1] = 1;
  counts[999] = 2;
  EXPECT_EQ(solve_large(lists_of(kinds, kind_of), 4), counts);
}

}  // namespace
}  // namespace lanista::goodput
