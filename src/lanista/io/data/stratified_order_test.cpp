#include "lanista/io/data/stratified_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lanista/base/rng.h"
#include "lanista/io/data/dataset.h"

namespace lanista::data {
namespace {

struct Rows {
  std::vector<std::int64_t> rows;
  std::vector<std::int32_t> labels;  ///< of all rows of the larger set
  std::int64_t classes = 0;
};

/// Some rows of a larger set, with classes from missing to nearly all.
Rows random_rows(Rng& rng) {
  Rows out;
  out.classes = rng.between(1, 12);
  std::vector<double> weight;
  for (std::int64_t c = 0; c < out.classes; ++c) weight.push_back(std::pow(rng.uniform(), 4));
  const std::int64_t all = rng.between(1, 150);
  for (std::int64_t row = 0; row < all; ++row) {
    double left = 0;
    for (const double w : weight) left += w;
    left *= rng.uniform();
    std::int32_t label = 0;
    while (label + 1 < out.classes && left > weight[static_cast<std::size_t>(label)]) {
      left -= weight[static_cast<std::size_t>(label++)];
    }
    out.labels.push_back(label);
    if (rng.bernoulli(0.7)) out.rows.push_back(row);
  }
  return out;
}

// Counts every prefix.
TEST(StratifiedOrder, EachPrefixIsStratified) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Rows of = random_rows(rng);
    const auto order = stratified_order(of.rows, of.labels, of.classes, seed);
    auto sorted = order;
    std::ranges::sort(sorted);
    ASSERT_EQ(sorted, of.rows);

    std::map<std::int32_t, std::int64_t> whole, sofar;
    for (const std::int64_t row : of.rows) ++whole[of.labels[static_cast<std::size_t>(row)]];
    const std::int64_t n = std::ssize(order);
    for (std::int64_t m = 1; m <= n; ++m) {
      ++sofar[of.labels[static_cast<std::size_t>(order[static_cast<std::size_t>(m - 1)])]];
      for (const auto& [label, count] : whole) ASSERT_LT(std::abs(sofar[label] * n - m * count), n) << m;
    }
  }
}

TEST(StratifiedOrder, DependsOnSeed) {
  std::vector<std::int64_t> rows;
  std::vector<std::int32_t> labels;
  for (std::int64_t row = 0; row < 60; ++row) {
    rows.push_back(row);
    labels.push_back(static_cast<std::int32_t>(row % 3));
  }
  for (const bool classes : {true, false}) {
    const auto order = [&](std::uint64_t seed) {
      return stratified_order(rows, classes ? std::span<const std::int32_t>(labels) : std::span<const std::int32_t>(),
                              3, seed);
    };
    EXPECT_EQ(order(1), order(1));
    std::set<std::vector<std::int64_t>> seen;
    std::set<std::int64_t> first;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      seen.insert(order(seed));
      first.insert(order(seed).front());
    }
    EXPECT_EQ(seen.size(), 40U);
    EXPECT_GT(first.size(), 15U) << "any row may be in a small share";
  }
}

TEST(ShareOfTrain, SubsetsAreNested) {
  const auto set =
      open({.source = "synthetic:blobs?rows=97&classes=3&features=4&seed=1", .augment = {}, .class_weights = {}}, ".",
           real_file_system());
  ASSERT_TRUE(set);
  const auto& train = set->rows(Part::kTrain);
  std::set<std::int64_t> before;
  for (std::int64_t count = 0; count <= std::ssize(train); ++count) {
    const auto share = set->training_subset(count, 7);
    ASSERT_EQ(std::ssize(share), count);
    const std::set<std::int64_t> now(share.begin(), share.end());
    ASSERT_EQ(std::ssize(now), count);
    ASSERT_TRUE(std::ranges::includes(now, before));
    before = now;
  }
  EXPECT_TRUE(std::ranges::equal(before, train));
}

}  // namespace
}  // namespace lanista::data
