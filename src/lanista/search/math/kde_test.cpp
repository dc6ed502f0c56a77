#include "lanista/search/math/kde.h"

#include <cmath>
#include <map>
#include <numbers>

#include <gtest/gtest.h>

#include "lanista/search/math/truncated_normal.h"

namespace lanista::search {
namespace {

using Rows = std::vector<std::vector<double>>;

// The oracle: the definition with functions of the C library, kernel by kernel, without code of the product.
double normal_pdf(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }
double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

std::vector<double> oracle_bandwidths(const std::vector<std::size_t>& levels, const Rows& rows) {
  const double n = static_cast<double>(rows.size()), d = static_cast<double>(levels.size());
  std::vector<double> out;
  for (std::size_t k = 0; k < levels.size(); ++k) {
    double s = 0;
    if (levels[k] == 0) {
      double sum = 0, squares = 0;
      for (const auto& row : rows) sum += row[k], squares += row[k] * row[k];
      s = std::sqrt(std::max(0.0, squares / n - sum / n * (sum / n)));
    } else {
      // Half the probability that two rows, sampled with replacement, differ.
      double differ = 0;
      for (const auto& a : rows) {
        for (const auto& b : rows) differ += a[k] != b[k] ? 1 : 0;
      }
      s = std::sqrt(differ / n / n / 2);
    }
    double h = std::max(1e-3, 1.06 * s * std::pow(n, -1 / (4 + d)));
    if (levels[k] > 0) h = std::min(h, (static_cast<double>(levels[k]) - 1) / static_cast<double>(levels[k]));
    out.push_back(h);
  }
  return out;
}

double oracle_density(const std::vector<std::size_t>& levels, const Rows& rows, const std::vector<double>& at) {
  const std::vector<double> h = oracle_bandwidths(levels, rows);
  double sum = 0;
  for (const auto& row : rows) {
    double product = 1;
    for (std::size_t k = 0; k < levels.size(); ++k) {
      if (levels[k] == 0) {
        const double inside = normal_cdf((1 - row[k]) / h[k]) - normal_cdf(-row[k] / h[k]);
        product *= normal_pdf((at[k] - row[k]) / h[k]) / h[k] / inside;
      } else {
        product *= at[k] == row[k] ? 1 - h[k] : h[k] / (static_cast<double>(levels[k]) - 1);
      }
    }
    sum += product;
  }
  return sum / static_cast<double>(rows.size());
}

Rows random_rows(const std::vector<std::size_t>& levels, std::size_t count, Rng& rng) {
  Rows rows(count);
  for (auto& row : rows) {
    for (const std::size_t each : levels) {
      row.push_back(each == 0 ? rng.uniform() : static_cast<double>(rng.below(each)));
    }
  }
  return rows;
}

TEST(ProductKde, HasTheDensityOfItsDefinition) {
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::size_t> levels;
    for (std::size_t k = 0, axes = 1 + rng.below(5); k < axes; ++k) {
      levels.push_back(rng.bernoulli(0.5) ? 0 : 2 + rng.below(4));
    }
    const Rows rows = random_rows(levels, 1 + rng.below(20), rng);
    const ProductKde kde(levels, rows);

    const auto h = oracle_bandwidths(levels, rows);
    for (std::size_t k = 0; k < levels.size(); ++k) EXPECT_NEAR(kde.bandwidths()[k], h[k], 1e-9);
    for (const auto& at : random_rows(levels, 5, rng)) {
      const double expected = std::log(oracle_density(levels, rows, at));
      if (expected < -600) continue;  // The plain formula underflows.
      EXPECT_NEAR(kde.log_density(at), expected, 1e-6 * std::max(1.0, std::abs(expected)));
    }
  }
}

TEST(ProductKde, MatchesBandwidthsComputedByHand) {
  // Two rows with deviation 1/2 give 1.06 / 2 * 2^(-1/5). A choice of two levels, one row each, gives the same.
  const ProductKde number({0}, {{0.0}, {1.0}}), choice({2}, {{0}, {1}});
  EXPECT_NEAR(number.bandwidths()[0], 0.4613917, 1e-7);
  EXPECT_NEAR(choice.bandwidths()[0], 0.4613917, 1e-7);
  // Levels have no order: it does not matter which two of three levels the rows have.
  EXPECT_EQ(ProductKde({3}, {{0}, {1}, {1}}).bandwidths(), ProductKde({3}, {{0}, {2}, {2}}).bandwidths());
  // Equal rows give the least bandwidth. Levels without a row count as well.
  const ProductKde equal({0, 4}, {{0.3, 2}, {0.3, 2}});
  EXPECT_EQ(equal.bandwidths(), (std::vector<double>{1e-3, 1e-3}));
  EXPECT_NEAR(equal.log_density({0.3, 1}) - equal.log_density({0.3, 2}), std::log(1e-3 / 3 / (1 - 1e-3)), 1e-9);
}

TEST(ProductKde, IntegratesToOne) {
  Rng rng(3);
  for (int round = 0; round < 20; ++round) {
    const std::vector<std::size_t> levels{0, 3, 0};
    const ProductKde kde(levels, random_rows(levels, 2 + rng.below(8), rng));
    constexpr int kCells = 60;
    double sum = 0;
    for (int level = 0; level < 3; ++level) {
      for (int i = 0; i < kCells; ++i) {
        for (int j = 0; j < kCells; ++j) {
          sum += std::exp(kde.log_density({(i + 0.5) / kCells, static_cast<double>(level), (j + 0.5) / kCells}));
        }
      }
    }
    EXPECT_NEAR(sum / kCells / kCells, 1, 0.01);
  }
}

TEST(ProductKde, StaysFiniteWhereProductUnderflows) {
  const std::vector<std::size_t> levels(400, 0);
  const Rows rows{std::vector<double>(400, 0.5), std::vector<double>(400, 0.5)};
  const ProductKde kde(levels, rows);
  EXPECT_NEAR(kde.log_density(rows[0]), 400 * std::log(normal_pdf(0) / 1e-3), 1e-6);
  EXPECT_LT(kde.log_density(std::vector<double>(400, 1.0)), -1e7);
}

TEST(ProductKde, SamplesNearRowsByItsKernels) {
  const Rows rows{{0.1, 0}, {0.1, 0}, {0.9, 0}, {0.9, 1}};
  const ProductKde kde({0, 3}, rows);
  const double h = kde.bandwidths()[1];
  constexpr int kNumSamples = 20'000;
  std::map<double, int> levels;
  double low = 0;
  for (int i = 0; i < kNumSamples; ++i) {
    const auto at = kde.sample_near_row(Rng(5).split(static_cast<std::uint64_t>(i)), 3);
    ASSERT_GE(at[0], 0);
    ASSERT_LE(at[0], 1);
    ++levels[at[1]];
    low += at[0] < 0.25 ? 1.0 / kNumSamples : 0;
  }
  // A level without a row is sampled by the uniform part alone. The row's own level has both parts.
  EXPECT_NEAR(levels[2] / 2e4, h / 3, 0.01);
  EXPECT_NEAR(levels[0] / 2e4, 0.75 * (1 - h) + h / 3, 0.015);
  double expected = 0;
  for (const double center : {0.1, 0.9}) {
    const double s = 3 * kde.bandwidths()[0];
    const double below = normal_cdf((0.25 - center) / s) - normal_cdf(-center / s);
    expected += 0.5 * below / (normal_cdf((1 - center) / s) - normal_cdf(-center / s));
  }
  EXPECT_NEAR(low, expected, 0.015);
}

TEST(TruncatedNormal, IsInsideTheIntervalAndMonotone) {
  for (const double mean : {0.0, 0.3, 1.0}) {
    for (const double deviation : {1e-3, 0.2, 5.0}) {
      const TruncatedNormal kernel{mean, deviation};
      double before = 0;
      for (double u = 0; u < 1; u += 0.05) {
        const double x = kernel.quantile(u);
        EXPECT_GE(x, before);
        EXPECT_LE(x, 1);
        const double below = normal_cdf((x - mean) / deviation) - normal_cdf(-mean / deviation);
        EXPECT_NEAR(below / kernel.mass(), u, 1e-7);
        before = x;
      }
    }
  }
}

}  // namespace
}  // namespace lanista::search
