#include "lanista/model/space/domain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "lanista/model/space/chooser.h"

namespace lanista::space {
namespace {

std::vector<double> sample_reals(const Domain& domain, int count) {
  RandomChooser choose(Rng(7).split("domain"));
  std::vector<double> values;
  for (int i = 0; i < count; ++i) {
    const Value value = choose.sample_value("x", domain);
    EXPECT_TRUE(domain_contains(domain, value)) << value_text(value);
    values.push_back(std::get<double>(value));
  }
  return values;
}

std::map<std::int64_t, int> sample_ints(const Domain& domain, int count) {
  RandomChooser choose(Rng(8).split("domain"));
  std::map<std::int64_t, int> seen;
  for (int i = 0; i < count; ++i) {
    const Value value = choose.sample_value("x", domain);
    EXPECT_TRUE(domain_contains(domain, value)) << value_text(value);
    ++seen[std::get<std::int64_t>(value)];
  }
  return seen;
}

double share_below(const std::vector<double>& values, double bound) {
  double count = 0;
  for (const double v : values) count += v < bound ? 1 : 0;
  return count / static_cast<double>(values.size());
}

TEST(Domain, RejectsInvalidDomains) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<Domain, std::string>> bad = {
      {Categorical{}, "at least one value"},
      {Categorical{{std::int64_t{1}, std::int64_t{1}}}, "1 is listed twice"},
      {Categorical{{inf}}, "finite"},
      {IntRange{3, 2}, "int(3, 2): the lower bound"},
      {IntRange{0, 5, 0}, "step must be at least 1"},
      {IntRange{0, 5, 1, true}, "start above 0"},
      {IntRange{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}, "2^62"},
      {FloatRange{1, 0}, "range(1, 0): the lower bound"},
      {FloatRange{0, inf}, "finite"},
      {FloatRange{0, 1, 0, true}, "log(0, 1): a logarithmic range must start above 0"},
      {FloatRange{0, 1, -0.5}, "quantum must be"},
      {FloatRange{0, 1, 1e-300}, "quantum is too small"},
      {FloatRange{0.6, 0.9, 0.5}, "no multiple of the quantum"},
  };

  for (const auto& [domain, part] : bad) {
    const auto checked = check_domain(domain);
    ASSERT_FALSE(checked.ok()) << domain_text(domain);
    EXPECT_EQ(checked.error().code, Code::kInvalidArgument);
    EXPECT_NE(checked.error().message.find(part), std::string::npos) << checked.error().message;
  }
}

TEST(Domain, WritesStudyFileNotation) {
  EXPECT_EQ(domain_text(Categorical{{std::string("sgd"), std::int64_t{3}, true}}), "choice(sgd, 3, true)");
  EXPECT_EQ(domain_text(IntRange{1, 9}), "int(1, 9)");
  EXPECT_EQ(domain_text(IntRange{1, 9, 2, true}), "int(1, 9, 2, log)");
  EXPECT_EQ(domain_text(FloatRange{0, 0.95}), "range(0, 0.95)");
  EXPECT_EQ(domain_text(FloatRange{0.001, 0.5, 0, true}), "log(0.001, 0.5)");
  EXPECT_EQ(domain_text(FloatRange{0, 1, 0.25}), "quant(0, 1, 0.25)");
}

TEST(Domain, CountsItsValues) {
  EXPECT_EQ(domain_size(Categorical{{true, false}}), 2);
  EXPECT_EQ(domain_size(IntRange{1, 10, 4}), 3);
  EXPECT_EQ(domain_size(FloatRange{0, 1}), std::nullopt);
  EXPECT_EQ(domain_size(FloatRange{0.1, 0.3, 0.1}), 3);
  EXPECT_EQ(domain_size(FloatRange{0.15, 1, 0.25}), 4);
  EXPECT_EQ(domain_size(FloatRange{2, 2}), 1);
}

TEST(Domain, EveryCountedValueIsDistinctAndInside) {
  const std::vector<Domain> domains = {Categorical{{std::string("a"), 0.5, std::int64_t{2}}},
                                       IntRange{-7, 20, 4},
                                       IntRange{1, 100, 3, true},
                                       FloatRange{-0.3, 0.7, 0.1},
                                       FloatRange{0.5, 1.9, 0.3, true},
                                       FloatRange{3, 3}};
  for (const Domain& domain : domains) {
    ASSERT_TRUE(check_domain(domain).ok());
    std::vector<Value> seen;
    for (std::int64_t i = 0; i < *domain_size(domain); ++i) {
      const Value value = domain_value(domain, i, 1);
      EXPECT_TRUE(domain_contains(domain, value)) << domain_text(domain) << " " << value_text(value);
      EXPECT_EQ(std::find(seen.begin(), seen.end(), value), seen.end()) << value_text(value);
      seen.push_back(value);
    }
  }
}

TEST(Domain, ReturnsShortDecimalMultiples) {
  const FloatRange tenths{0, 1, 0.1};

  for (int i = 0; i <= 10; ++i) EXPECT_EQ(std::get<double>(domain_value(tenths, i, 0)), i / 10.0);
  EXPECT_TRUE(domain_contains(tenths, 0.3));
  EXPECT_FALSE(domain_contains(tenths, 0.35));
}

TEST(Domain, ContainsAsksForTheRightType) {
  EXPECT_FALSE(domain_contains(IntRange{0, 9}, 3.0));
  EXPECT_FALSE(domain_contains(FloatRange{0, 9}, std::int64_t{3}));
  EXPECT_FALSE(domain_contains(FloatRange{0, 9}, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(domain_contains(IntRange{0, 9, 2}, std::int64_t{3}));
  EXPECT_FALSE(domain_contains(IntRange{0, 9}, std::int64_t{10}));
}

TEST(Domain, CutsContinuousRangesIntoEqualSteps) {
  const FloatRange plain{0, 1};
  const FloatRange log{0.001, 1000, 0, true};

  EXPECT_EQ(std::get<double>(domain_value(plain, 0, 5)), 0);
  EXPECT_EQ(std::get<double>(domain_value(plain, 1, 5)), 0.25);
  EXPECT_EQ(std::get<double>(domain_value(plain, 4, 5)), 1);
  EXPECT_EQ(std::get<double>(domain_value(plain, 0, 1)), 0.5);
  EXPECT_EQ(std::get<double>(domain_value(log, 0, 7)), 0.001);
  EXPECT_NEAR(std::get<double>(domain_value(log, 3, 7)), 1, 1e-12);
  EXPECT_NEAR(std::get<double>(domain_value(log, 4, 7)), 10, 1e-11);
}

TEST(Domain, SamplesUniformly) {
  const auto values = sample_reals(FloatRange{-2, 6}, 20000);

  for (int i = 1; i < 8; ++i) EXPECT_NEAR(share_below(values, -2.0 + i), i / 8.0, 0.015);
}

TEST(Domain, SamplesLogUniformly) {
  const auto values = sample_reals(FloatRange{1e-5, 1e-1, 0, true}, 20000);

  EXPECT_NEAR(share_below(values, 1e-4), 0.25, 0.015);
  EXPECT_NEAR(share_below(values, 1e-3), 0.5, 0.015);
  EXPECT_NEAR(share_below(values, 1e-2), 0.75, 0.015);
}

TEST(Domain, SamplesMultiplesUniformly) {
  std::map<double, int> seen;
  for (const double v : sample_reals(FloatRange{0, 1, 0.25}, 20000)) ++seen[v];

  ASSERT_EQ(seen.size(), 5U);
  for (const auto& [value, count] : seen) EXPECT_NEAR(count, 4000, 300) << value;
}

TEST(Domain, SamplesSmallMultiplesMoreOftenInLog) {
  std::map<double, int> seen;
  for (const double v : sample_reals(FloatRange{1, 16, 1, true}, 20000)) ++seen[v];

  ASSERT_EQ(seen.size(), 16U);
  EXPECT_GT(seen[2], 2 * seen[8]);
}

TEST(Domain, SamplesIntegersUniformly) {
  const auto seen = sample_ints(IntRange{3, 21, 6}, 20000);

  ASSERT_EQ(seen.size(), 4U);
  for (const auto& [value, count] : seen) EXPECT_NEAR(count, 5000, 300) << value;
}

TEST(Domain, SamplesLogIntegersUniformlyInLog) {
  const auto seen = sample_ints(IntRange{1, 255, 1, true}, 20000);

  const auto share = [&](std::int64_t lo, std::int64_t hi) {
    int count = 0;
    for (const auto& [value, n] : seen) count += value >= lo && value <= hi ? n : 0;
    return count / 20000.0;
  };
  const auto expected = [](double lo, double hi) {
    return (std::log(hi + 0.5) - std::log(lo - 0.5)) / (std::log(255.5) - std::log(0.5));
  };
  EXPECT_NEAR(share(1, 1), expected(1, 1), 0.015);
  EXPECT_NEAR(share(2, 15), expected(2, 15), 0.015);
  EXPECT_NEAR(share(16, 255), expected(16, 255), 0.015);
}

TEST(Domain, SamplesOneValueFromDegenerateRange) {
  EXPECT_EQ(sample_reals(FloatRange{0.3, 0.3}, 3), std::vector<double>(3, 0.3));
  EXPECT_EQ(sample_reals(FloatRange{0.3, 0.3, 0, true}, 3), std::vector<double>(3, 0.3));
  EXPECT_EQ(sample_ints(IntRange{5, 5, 1, true}, 3).at(5), 3);
}

}  // namespace
}  // namespace lanista::space
