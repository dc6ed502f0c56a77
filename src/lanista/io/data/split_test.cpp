// No row in two parts, no group in two parts, no future in training, for random tables.
#include "lanista/io/data/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lanista/base/rng.h"

namespace lanista::data {
namespace {

std::array<double, 3> random_fractions(Rng& rng) {
  const double test = rng.bernoulli(0.3) ? 0 : rng.uniform(0.05, 0.4), validation = rng.uniform(0.05, 0.4);
  return {1 - validation - test, validation, test};
}

std::vector<std::int64_t> random_test_rows(Rng& rng, std::int64_t rows) {
  std::vector<std::int64_t> test;
  if (rng.bernoulli(0.6)) return test;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (rng.bernoulli(0.2)) test.push_back(row);
  }
  return test;
}

void expect_each_row_once(const Split& split, std::int64_t rows) {
  std::vector<std::int64_t> all;
  for (const auto& part : split) {
    EXPECT_TRUE(std::ranges::is_sorted(part));
    all.insert(all.end(), part.begin(), part.end());
  }
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) ASSERT_EQ(all[static_cast<std::size_t>(row)], row);
}

TEST(SplitGroups, KeepsEachGroupInOnePart) {
  Rng rng(1);
  for (int i = 0; i < 500; ++i) {
    const std::int64_t rows = rng.between(20, 400), kinds = rng.between(5, 80), classes = rng.between(2, 5);
    std::vector<std::int64_t> groups;
    std::vector<std::int32_t> labels;
    for (std::int64_t row = 0; row < rows; ++row) {
      // Some groups are far larger than others.
      const std::int64_t random_order = std::min(rng.between(0, kinds - 1), rng.between(0, kinds - 1));
      groups.push_back(row < 5 ? row : random_order);
      labels.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(classes))));
    }
    const auto fractions = random_fractions(rng);
    const auto test = random_test_rows(rng, rows);
    const bool numbers = rng.bernoulli(0.3);
    const auto split = split_groups(groups, numbers ? std::vector<std::int32_t>() : labels, classes, fractions, test);
    if (!split.ok()) {  // an official test part may leave too few groups
      EXPECT_FALSE(test.empty()) << split.error().text();
      continue;
    }
    expect_each_row_once(*split, rows);
    EXPECT_TRUE(test.empty() || (*split)[2] == test);

    std::map<std::int64_t, std::set<std::size_t>> parts_of;
    std::map<std::int64_t, std::int64_t> size_of;
    double shared_out = 0;
    for (std::size_t part = 0; part < 3; ++part) {
      if (!test.empty() && part == 2) continue;
      for (const std::int64_t row : (*split)[part]) {
        parts_of[groups[static_cast<std::size_t>(row)]].insert(part);
        ++size_of[groups[static_cast<std::size_t>(row)]];
        ++shared_out;
      }
    }
    for (const auto& [group, parts] : parts_of) ASSERT_EQ(parts.size(), 1U) << "group " << group;
    // Off by the largest group at most: any other part would have been nearer.
    const std::int64_t largest = std::ranges::max_element(size_of, {}, [](const auto& g) { return g.second; })->second;
    const double both = test.empty() ? 1 : fractions[0] + fractions[1];
    if (!numbers) continue;
    for (std::size_t part = 0; part < (test.empty() ? 3U : 2U); ++part) {
      EXPECT_LE(std::fabs(static_cast<double>((*split)[part].size()) - shared_out * fractions[part] / both),
                static_cast<double>(largest) + 1)
          << part;
    }
  }
}

TEST(SplitGroups, KeepsTheClassesInProportion) {
  // 60 groups of 10 rows, each with nine of its own class and one of another. A third of the groups has class 1.
  std::vector<std::int64_t> groups;
  std::vector<std::int32_t> labels;
  for (int g = 0; g < 60; ++g) {
    for (int row = 0; row < 10; ++row) {
      groups.push_back(g);
      labels.push_back((g % 3 == 0) == (row > 0) ? 1 : 0);
    }
  }
  const auto split = split_groups(groups, labels, 2, {0.6, 0.2, 0.2});
  ASSERT_TRUE(split.ok());
  for (std::size_t part = 0; part < 3; ++part) {
    double ones = 0;
    for (const std::int64_t row : (*split)[part]) ones += labels[static_cast<std::size_t>(row)];
    EXPECT_NEAR(ones / static_cast<double>((*split)[part].size()), (20 * 9 + 40) / 600.0, 0.05) << part;
    EXPECT_NEAR(static_cast<double>((*split)[part].size()) / 600, part == 0 ? 0.6 : 0.2, 0.02) << part;
  }
}

TEST(SplitInTime, TrainsOnlyOnEarlierTimes) {
  Rng rng(2);
  for (int i = 0; i < 500; ++i) {
    const std::int64_t rows = rng.between(10, 300), different = rng.between(3, 60);
    std::vector<double> times;
    std::map<double, std::int64_t> size_of;
    for (std::int64_t row = 0; row < rows; ++row) {
      times.push_back(static_cast<double>(row < 3 ? row : rng.between(0, different - 1)) * 0.25);
    }
    const auto fractions = random_fractions(rng);
    const auto test = random_test_rows(rng, rows);
    const auto split = split_in_time(times, fractions, test);
    if (!split.ok()) {
      EXPECT_FALSE(test.empty()) << split.error().text();
      continue;
    }
    expect_each_row_once(*split, rows);
    EXPECT_TRUE(test.empty() || (*split)[2] == test);
    const std::size_t parts = test.empty() ? 3 : 2;
    double latest = -1, shared_out = 0, both = test.empty() ? 1 : fractions[0] + fractions[1];
    for (std::size_t part = 0; part < parts; ++part) {
      double next = latest;
      for (const std::int64_t row : (*split)[part]) {
        const double time = times[static_cast<std::size_t>(row)];
        EXPECT_GT(time, latest) << "part " << part << " holds what is not after the part before";
        next = std::max(next, time);
        ++size_of[time];
        ++shared_out;
      }
      latest = next;
      EXPECT_EQ((*split)[part].empty(), !(fractions[part] > 0));
    }
    const std::int64_t largest = std::ranges::max_element(size_of, {}, [](const auto& t) { return t.second; })->second;
    double end = 0, expected = 0;
    // Parts that would be empty get one time each, so the smallest tables are left out of this.
    for (std::size_t part = 0; part + 1 < parts && size_of.size() > 20; ++part) {
      end += static_cast<double>((*split)[part].size());
      expected += shared_out * fractions[part] / both;
      EXPECT_LE(std::fabs(end - expected), static_cast<double>(largest) + 1);
    }
  }
}

TEST(Splits, ReportInfeasibleFractions) {
  const auto text = [](const Result<Split>& split) {
    return split.ok() ? std::string("no error") : split.error().message;
  };
  EXPECT_EQ(text(split_groups({0, 0, 1, 1}, {}, 0, {0.6, 0.2, 0.2})),
            "split: 2 groups cannot be shared out between 3 parts");
  EXPECT_EQ(text(split_in_time({1, 1, 1}, {0.5, 0.5, 0})), "split: 1 times cannot be shared out between 2 parts");
  EXPECT_EQ(text(split_in_time({1, 2, 3}, {0, 0.5, 0.5})), "split: the train part would have no row");
  EXPECT_EQ(text(split_groups({1, 2, 3}, {}, 0, {0.5, 0.2, 0.2})), "split: the fractions add up to 0.900000, not to 1");
  EXPECT_EQ(text(split_groups({0, 1}, {}, 0, {0.5, 0.5, 0})), "no error");
}

}  // namespace
}  // namespace lanista::data
