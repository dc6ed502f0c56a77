#include "lanista/model/space/quantum_grid.h"

#include <gtest/gtest.h>

#include <vector>

#include "lanista/base/rng.h"
#include "lanista/model/space/chooser.h"
#include "lanista/model/space/unit_interval.h"

namespace lanista::space {
namespace {

FloatRange grid(double lo, double hi, double step, bool log = false) { return {lo, hi, step, log, true}; }

std::vector<double> values_of(const FloatRange& range) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < *domain_size(range); ++i) out.push_back(std::get<double>(domain_value(range, i, 1)));
  return out;
}

using Values = std::vector<double>;

TEST(QuantumGrid, BeginsAtLowerBound) {
  EXPECT_EQ(values_of(grid(0.05, 0.35, 0.1)), (Values{0.05, 0.15, 0.25, 0.35}));
  EXPECT_EQ(values_of(grid(16, 80, 32)), (Values{16, 48, 80}));
  EXPECT_EQ(values_of(grid(0.1, 1, 0.3)), (Values{0.1, 0.4, 0.7, 1}));
  EXPECT_EQ(values_of(grid(-0.3, 0.35, 0.1)), (Values{-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3}));
  EXPECT_EQ(values_of(grid(0.5, 0.9, 1)), (Values{0.5}));
  EXPECT_EQ(values_of(grid(1e-5, 3.5e-5, 1e-5)), (Values{1e-5, 2e-5, 3e-5}));
  EXPECT_EQ(values_of(grid(1000000000, 1000000000.4, 0.1)),
            (Values{1000000000, 1000000000.1, 1000000000.2, 1000000000.3, 1000000000.4}));
}

TEST(QuantumGrid, HasExactDecimals) {
  // 9 * 0.1 and 0.1 + 8 * 0.1 differ from 0.9 in binary.
  EXPECT_EQ(values_of(grid(0, 0.9, 0.1)).back(), 0.9);
  EXPECT_EQ(values_of(grid(0.1, 0.9, 0.1)).back(), 0.9);
  for (std::int64_t k = 0; k <= 1000; ++k) {
    EXPECT_EQ(quantum_value(grid(0, 1, 0.001), k), static_cast<double>(k) / 1000) << k;
  }
}

TEST(QuantumGrid, ReachesUpperBoundWithinRounding) {
  EXPECT_EQ(domain_size(grid(0, 0.30000000000000004, 0.1)), 4);
  EXPECT_EQ(domain_size(grid(0, 0.29999999999999999, 0.1)), 4);
  EXPECT_EQ(domain_size(grid(0, 0.2999999, 0.1)), 3);
  EXPECT_EQ(values_of(grid(0, 0.2999999999999, 0.1)).back(), 0.2999999999999) << "not above the bound";
  EXPECT_EQ(domain_size(grid(0, 1, 1.0 / 3)), 4);
  // Numbers of very different sizes have no common decimal form.
  EXPECT_EQ(domain_size(grid(-1e-20, 1e10, 1e9)), 11);
}

TEST(QuantumGrid, AcceptsRoundedValues) {
  const FloatRange tenths = grid(0, 0.9, 0.1);
  EXPECT_EQ(value_in(tenths, 0.6000000000000001), Value(0.6));
  EXPECT_EQ(value_in(tenths, 0.30000000000000004), Value(0.3));
  EXPECT_EQ(value_in(tenths, 0.9000000000000001), Value(0.9)) << "beyond the bound by rounding";
  EXPECT_EQ(value_in(tenths, -1e-17), Value(0.0));
  EXPECT_EQ(value_in(tenths, 0.6001), std::nullopt);
  EXPECT_EQ(value_in(tenths, 1.0), std::nullopt);
  EXPECT_EQ(value_in(tenths, 1e300), std::nullopt);
  EXPECT_EQ(value_in(grid(1e9, 2e9, 0.5), 1e9 + 0.3), std::nullopt) << "rounding is less than the step";
  EXPECT_EQ(value_in(FloatRange{0, 0.3}, 0.1 + 0.2), Value(0.3));
  EXPECT_EQ(value_in(FloatRange{0, 0.3}, 0.3001), std::nullopt);
  EXPECT_EQ(value_in(Categorical{{0.1, 0.3}}, 0.1 + 0.2), Value(0.3));
}

TEST(QuantumGrid, SamplesOnlyItsValues) {
  for (const Domain& domain : {Domain(grid(0.05, 0.95, 0.3)), Domain(grid(0.05, 3, 0.25, true))}) {
    RandomChooser choose(Rng(5));
    for (int i = 0; i < 300; ++i) {
      const Value value = choose.sample_value("x", domain);
      ASSERT_TRUE(domain_contains(domain, value)) << value_text(value);
      EXPECT_EQ(value_at(domain, unit_position(domain, value)), value) << value_text(value);
    }
  }
}

TEST(QuantumGrid, KeepsMultiplesWithFirstRules) {
  EXPECT_EQ(values_of(FloatRange{0.05, 0.35, 0.1}), (Values{0.1, 0.2, 0.3}));
  EXPECT_EQ(values_of(FloatRange{16, 80, 32}), (Values{32, 64}));
  EXPECT_EQ(values_of(FloatRange{0.1, 1, 0.3}), (Values{0.3, 0.6, 3 * 0.3}));
}

}  // namespace
}  // namespace lanista::space
