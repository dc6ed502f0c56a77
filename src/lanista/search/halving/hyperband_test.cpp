#include "lanista/search/halving/hyperband.h"

#include <gtest/gtest.h>

#include "lanista/base/rng.h"

namespace lanista::search {
namespace {

using Table = std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>>;

/// Returns (trials, epochs) of every rung of every bracket.
Table table_of(const std::vector<Bracket>& brackets, std::int64_t eta) {
  Table out;
  for (const Bracket& bracket : brackets) {
    auto& rows = out.emplace_back();
    for (std::size_t i = 0; i < bracket.rungs.size(); ++i) {
      rows.emplace_back(trials_at_rung(bracket.trials, eta, i), bracket.rungs[i]);
    }
  }
  return out;
}

struct Totals {
  std::int64_t configurations = 0, evaluations = 0, restarted = 0, resumed = 0;
  bool operator==(const Totals&) const = default;
};

Totals totals(const Table& table) {
  Totals out;
  for (const auto& rows : table) {
    out.configurations += rows.front().first;
    std::int64_t before = 0;
    for (const auto& [trials, epochs] : rows) {
      out.evaluations += trials;
      out.restarted += trials * epochs;
      out.resumed += trials * (epochs - before);
      before = epochs;
    }
  }
  return out;
}

// R = 81, eta = 3: the tables of Li et al., and those of libraries.
TEST(Hyperband, MatchesPublishedTables) {
  const Table ceil = table_of(hyperband_brackets(1, 3, 81, BracketSize::kCeil), 3);
  EXPECT_EQ(ceil, (Table{{{81, 1}, {27, 3}, {9, 9}, {3, 27}, {1, 81}},
                         {{34, 3}, {11, 9}, {3, 27}, {1, 81}},
                         {{15, 9}, {5, 27}, {1, 81}},
                         {{8, 27}, {2, 81}},
                         {{5, 81}}}));
  EXPECT_EQ(totals(ceil), (Totals{143, 206, 1902, 1581}));

  const Table floor = table_of(hyperband_brackets(1, 3, 81, BracketSize::kFloorRatio), 3);
  EXPECT_EQ(floor, (Table{{{81, 1}, {27, 3}, {9, 9}, {3, 27}, {1, 81}},
                          {{27, 3}, {9, 9}, {3, 27}, {1, 81}},
                          {{9, 9}, {3, 27}, {1, 81}},
                          {{6, 27}, {2, 81}},
                          {{5, 81}}}));
  EXPECT_EQ(totals(floor), (Totals{128, 187, 1701, 1404}));

  const Table ratio = table_of(hyperband_brackets(1, 3, 81, BracketSize::kCeilRatio), 3);
  EXPECT_EQ(ratio, (Table{{{81, 1}, {27, 3}, {9, 9}, {3, 27}, {1, 81}},
                          {{54, 3}, {18, 9}, {6, 27}, {2, 81}},
                          {{18, 9}, {6, 27}, {2, 81}},
                          {{9, 27}, {3, 81}},
                          {{5, 81}}}));
  EXPECT_EQ(totals(ratio), (Totals{167, 244, 2430, 1971}));
}

TEST(Hyperband, CountsBracketsWhereLogarithmsMissOne) {
  EXPECT_EQ(hyperband_brackets(1, 3, 243, BracketSize::kCeil).size(), 6U);    // int(log 243 / log 3) = 4
  EXPECT_EQ(hyperband_brackets(1, 10, 1000, BracketSize::kCeil).size(), 4U);  // int(log 1000 / log 10) = 2
  EXPECT_EQ(hyperband_brackets(1, 10, 100, BracketSize::kCeil).size(), 3U);   // -int(log 0.01 / log 10) = 1
  EXPECT_EQ(hyperband_brackets(1, 2, 1'000'000'000, BracketSize::kCeilRatio).size(), 30U);
  EXPECT_EQ(hyperband_brackets(3, 3, 81, BracketSize::kCeil).size(), 4U);
  EXPECT_EQ(hyperband_brackets(28, 3, 81, BracketSize::kCeil).size(), 1U);
}

TEST(Hyperband, RoundsBudgetsDownToFullSchedule) {
  const auto brackets = hyperband_brackets(1, 3, 100, BracketSize::kCeil);
  ASSERT_EQ(brackets.size(), 5U);
  EXPECT_EQ(brackets[0].rungs, (std::vector<std::int64_t>{1, 3, 11, 33, 100}));
  EXPECT_EQ(brackets[3].rungs, (std::vector<std::int64_t>{33, 100}));
  EXPECT_EQ(hyperband_brackets(2, 3, 100, BracketSize::kCeil)[0].rungs, (std::vector<std::int64_t>{3, 11, 33, 100}));
}

TEST(HalvingRungs, CountExactPowersThatLogarithmsMissAndEndAtTheMaximum) {
  EXPECT_EQ(halving_rungs(1, 3, 243), (std::vector<std::int64_t>{1, 3, 9, 27, 81, 243}));
  EXPECT_EQ(halving_rungs(1, 10, 1000), (std::vector<std::int64_t>{1, 10, 100, 1000}));
  EXPECT_EQ(halving_rungs(1, 3, 100), (std::vector<std::int64_t>{1, 3, 9, 27, 100}));
  EXPECT_EQ(halving_rungs(2, 3, 100), (std::vector<std::int64_t>{2, 6, 18, 100}));
  EXPECT_EQ(halving_rungs(40, 3, 100), (std::vector<std::int64_t>{100}));
  EXPECT_EQ(halving_rungs(1, 2, std::int64_t{1} << 62).size(), 63U);
}

TEST(Hyperband, HasAscendingNonEmptyRungs) {
  Rng rng(3);
  for (int round = 0; round < 2000; ++round) {
    const std::int64_t eta = rng.between(2, 6), max = rng.between(1, 2000), min = rng.between(1, max);
    const auto size = static_cast<BracketSize>(rng.below(3));
    const auto brackets = hyperband_brackets(min, eta, max, size);
    const std::int64_t most = std::ssize(brackets) - 1;
    // Floor of the logarithm, by trying all powers.
    std::int64_t power = 1;
    for (std::int64_t s = 0; s < most; ++s) power *= eta;
    ASSERT_LE(min * power, max);
    ASSERT_GT(min * power * eta, max);
    for (std::size_t b = 0; b < brackets.size(); ++b, power /= eta) {
      const std::int64_t s = most - static_cast<std::int64_t>(b), m = most + 1;
      const Bracket& bracket = brackets[b];
      ASSERT_EQ(std::ssize(bracket.rungs), s + 1);
      ASSERT_EQ(bracket.rungs.back(), max);
      ASSERT_GE(bracket.rungs.front(), min);
      std::int64_t divisor = power;
      for (const std::int64_t rung : bracket.rungs) {
        ASSERT_LE(rung * divisor, max);
        ASSERT_GT((rung + 1) * divisor, max);
        divisor /= eta;
      }
      ASSERT_TRUE(std::is_sorted(bracket.rungs.begin(), bracket.rungs.end(), std::less_equal<>()));
      std::int64_t n = 0;  // the smallest, or largest, whole number that the definition's inequality holds for
      if (size == BracketSize::kCeil) {
        while (n * (s + 1) < m * power) ++n;
      } else {
        std::int64_t ratio = 0;
        while ((ratio + 1) * (s + 1) <= m) ++ratio;
        if (size == BracketSize::kCeilRatio && ratio * (s + 1) < m) ++ratio;
        n = ratio * power;
      }
      ASSERT_EQ(bracket.trials, n);
      ASSERT_GE(trials_at_rung(bracket.trials, eta, bracket.rungs.size() - 1), 1);
      ASSERT_GE(bracket.trials, power) << "at least one trial reaches the end";
    }
  }
}

TEST(TrialsAtRung, RoundDownShareOfFirstRung) {
  for (std::int64_t n = 1; n <= 200; ++n) {
    std::int64_t power = 1;
    for (std::size_t rung = 0; rung < 7; ++rung, power *= 3) {
      std::int64_t at = 0;
      while ((at + 1) * power <= n) ++at;
      EXPECT_EQ(trials_at_rung(n, 3, rung), std::max<std::int64_t>(at, 1)) << n << " " << rung;
    }
  }
}

}  // namespace
}  // namespace lanista::search
