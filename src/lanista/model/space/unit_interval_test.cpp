#include "lanista/model/space/unit_interval.h"

#include <cmath>

#include <gtest/gtest.h>

#include "lanista/base/check.h"
#include "lanista/base/rng.h"
#include "lanista/model/space/chooser.h"

namespace lanista::space {
namespace {

const std::vector<Domain> kDomains{
    Categorical{{Value(std::string("a")), Value(std::string("b")), Value(std::string("c"))}},
    IntRange{-3, 9, 1, false},
    IntRange{2, 21, 4, false},
    IntRange{1, 200, 1, true},
    IntRange{4, 61, 8, true},
    FloatRange{-1, 3, 0, false},
    FloatRange{0.001, 0.5, 0, true},
    FloatRange{0, 1, 0.1, false},
    FloatRange{0.05, 3, 0.25, true},
    FloatRange{0.05, 3, 0.25, true, true},
    FloatRange{0.05, 0.95, 0.1, false, true},
    FloatRange{0.3, 0.3, 0, true},
};

TEST(UnitInterval, MapsEndsToEndsOfDomain) {
  EXPECT_EQ(value_at(kDomains[0], 0), Value(std::string("a")));
  EXPECT_EQ(value_at(kDomains[0], 1), Value(std::string("c")));
  EXPECT_EQ(value_at(kDomains[2], 1), Value(std::int64_t{18}));
  EXPECT_EQ(value_at(kDomains[3], 0), Value(std::int64_t{1}));
  EXPECT_EQ(value_at(kDomains[3], 1), Value(std::int64_t{200}));
  EXPECT_EQ(value_at(kDomains[5], 0.25), Value(0.0));
  EXPECT_EQ(value_at(kDomains[6], 1), Value(0.5));
  EXPECT_NEAR(std::get<double>(value_at(FloatRange{0.01, 1, 0, true}, 0.5)), 0.1, 1e-15);
}

TEST(UnitInterval, RoundTripsEveryValue) {
  Rng rng(1);
  for (const Domain& domain : kDomains) {
    for (int i = 0; i < 300; ++i) {
      const double u = rng.uniform();
      const Value value = value_at(domain, u);
      ASSERT_TRUE(domain_contains(domain, value)) << domain_text(domain);
      const double position = unit_position(domain, value);
      const UnitInterval cell = unit_cell(domain, value);
      EXPECT_LE(cell.lo, position);
      EXPECT_LE(position, cell.hi);
      if (domain_size(domain)) {
        EXPECT_EQ(value_at(domain, position), value) << domain_text(domain);
        EXPECT_GE(u, cell.lo - 1e-12) << domain_text(domain);
        EXPECT_LE(u, cell.hi + 1e-12) << domain_text(domain);
      } else {
        EXPECT_NEAR(position, u, 1e-13);
        EXPECT_EQ(cell.lo, cell.hi);
      }
    }
  }
}

TEST(UnitInterval, CutsTheIntervalIntoCellsWithoutGaps) {
  for (const Domain& domain : kDomains) {
    const auto size = domain_size(domain);
    if (!size) continue;
    double end = 0;
    for (std::int64_t i = 0; i < *size; ++i) {
      const UnitInterval cell = unit_cell(domain, domain_value(domain, i, *size));
      EXPECT_NEAR(cell.lo, end, 1e-12) << domain_text(domain);
      EXPECT_LT(cell.lo, cell.hi) << domain_text(domain);
      end = cell.hi;
    }
    EXPECT_NEAR(end, 1, 1e-12);
  }
}

TEST(UnitInterval, MatchesRandomSampling) {
  // The share of 4000 samples in a cell equals its length, within four standard deviations.
  constexpr int kNumSamples = 4000;
  for (const Domain& domain : kDomains) {
    RandomChooser choose(Rng(7));
    int below = 0;
    for (int i = 0; i < kNumSamples; ++i)
      below += unit_position(domain, choose.sample_value("x", domain)) < 0.4 ? 1 : 0;
    double mass = 0.4;
    if (const auto size = domain_size(domain)) {
      mass = 0;
      for (std::int64_t i = 0; i < *size; ++i) {
        const Value value = domain_value(domain, i, *size);
        const UnitInterval cell = unit_cell(domain, value);
        if (unit_position(domain, value) < 0.4) mass += cell.hi - cell.lo;
      }
    }
    EXPECT_NEAR(below, kNumSamples * mass, 4 * std::sqrt(kNumSamples * mass * (1 - mass)) + 1e-9)
        << domain_text(domain);
  }
}

TEST(UnitInterval, RejectsOutsidePositionsAndValues) {
  EXPECT_THROW(value_at(kDomains[0], 1.5), InternalError);
  EXPECT_THROW(unit_position(kDomains[1], Value(std::int64_t{10})), InternalError);
}

}  // namespace
}  // namespace lanista::space
