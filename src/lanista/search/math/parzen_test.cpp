#include "lanista/search/math/parzen.h"

#include <cmath>

#include <gtest/gtest.h>

#include "lanista/base/portable_math.h"

namespace lanista::search {
namespace {

using space::Domain;
using space::Value;

const Domain kUnit = space::FloatRange{0, 1, 0, false};
const Domain kInt = space::IntRange{1, 10, 1, false};
const Domain kLogInt = space::IntRange{1, 10, 1, true};

std::vector<AxisValue> row(const std::vector<Domain>& domains, const std::vector<Value>& values) {
  std::vector<AxisValue> out;
  for (std::size_t i = 0; i < domains.size(); ++i) out.push_back(axis_value_of(domains[i], values[i]));
  return out;
}

// The expected numbers of these tests were computed with the estimator of Optuna 5.0.
void expect_log_densities(const std::vector<Domain>& domains, const std::vector<std::vector<Value>>& seen,
                          const std::vector<std::vector<Value>>& at, const std::vector<double>& want) {
  std::vector<std::vector<AxisValue>> rows;
  for (const auto& values : seen) rows.push_back(row(domains, values));
  const Parzen parzen(domains, rows);
  for (std::size_t i = 0; i < at.size(); ++i) {
    EXPECT_NEAR(parzen.log_density(row(domains, at[i])), want[i], 1e-10) << i;
  }
}

std::vector<std::vector<Value>> whole(std::initializer_list<std::int64_t> values) {
  std::vector<std::vector<Value>> out;
  for (const std::int64_t v : values) out.push_back({Value(v)});
  return out;
}

TEST(Parzen, MatchesOptunaMixture) {
  expect_log_densities({kUnit}, {{0.2}, {0.25}, {0.7}}, {{0.0}, {0.22}, {0.5}, {0.9}},
                       {-0.028396720711, 0.304751032808, 0.0309311009525, -0.428428373805});
}

TEST(Parzen, IntegratesDensityOverIntegerCells) {
  expect_log_densities({kInt}, whole({2, 2, 9}), whole({1, 2, 5, 10}),
                       {-2.07534814392, -1.98980479994, -2.29968766727, -2.67256914657});
  expect_log_densities({kLogInt}, whole({2, 2, 9}), whole({1, 2, 5, 10}),
                       {-1.20463655249, -1.54078356779, -2.69341446507, -3.63143167187});
}

TEST(Parzen, SmoothsChoices) {
  const Domain abc = space::Categorical{{Value(std::string("a")), Value(std::string("b")), Value(std::string("c"))}};
  const std::vector<Value> a{Value(std::string("a"))}, b{Value(std::string("b"))}, c{Value(std::string("c"))};
  expect_log_densities({abc}, {a, c, c, c}, {a, b, c}, {-1.23214368129, -1.79175946923, -0.613104472886});
}

TEST(Parzen, IsAMixtureOfProductsInSeveralDimensions) {
  const Domain ab = space::Categorical{{Value(false), Value(true)}};
  expect_log_densities({kUnit, ab}, {{0.2, false}, {0.25, true}, {0.7, true}}, {{0.1, false}, {0.6, true}},
                       {-0.460580352033, -0.492844827355});
}

TEST(Parzen, GivesOldObservationsLessWeight) {
  std::vector<std::vector<Value>> seen;
  for (int i = 0; i < 30; ++i) seen.push_back({(i * 7 % 30) / 30.0});
  expect_log_densities({kUnit}, seen, {{0.05}, {0.5}, {0.93}}, {0.0146566445748, -0.037429301838, 0.0827791342669});

  EXPECT_EQ(observation_weights(25), std::vector<double>(25, 1.0));
  const auto weights = observation_weights(27);
  EXPECT_DOUBLE_EQ(weights[0], 1.0 / 27);
  EXPECT_EQ(weights[1], 1.0);
  EXPECT_EQ(weights[26], 1.0);
}

TEST(Parzen, SumsToOneAndSamplesItsDensity) {
  const std::vector<Domain> domains{kLogInt};
  std::vector<std::vector<AxisValue>> rows;
  for (const auto& values : whole({3, 3, 4, 9})) rows.push_back(row(domains, values));
  const Parzen parzen(domains, rows);
  std::vector<double> mass;
  for (std::int64_t v = 1; v <= 10; ++v) mass.push_back(portable_exp(parzen.log_density(row(domains, {Value(v)}))));
  double sum = 0;
  for (const double m : mass) sum += m;
  EXPECT_NEAR(sum, 1, 1e-12);

  constexpr int kNumSamples = 4000;
  std::vector<int> sample_counts(10);
  for (std::uint64_t i = 0; i < kNumSamples; ++i) {
    ++sample_counts[static_cast<std::size_t>(std::get<std::int64_t>(parzen.sample(Rng(1).split(i))[0]) - 1)];
  }
  for (std::size_t v = 0; v < 10; ++v) {
    EXPECT_NEAR(sample_counts[v], kNumSamples * mass[v], 4 * std::sqrt(kNumSamples * mass[v])) << v + 1;
  }
}

TEST(Parzen, IsUniformInChoicesAndWideInNumbersWithoutObservations) {
  const Parzen parzen({kUnit, kInt}, {});
  const std::vector<Domain> domains{kUnit, kInt};
  const double middle = parzen.log_density(row(domains, {0.5, std::int64_t{5}}));
  EXPECT_NEAR(parzen.log_density(row(domains, {0.5, std::int64_t{6}})), middle, 1e-12);
  EXPECT_LT(parzen.log_density(row(domains, {0.0, std::int64_t{5}})), middle);
  EXPECT_GT(parzen.log_density(row(domains, {0.0, std::int64_t{5}})), middle - 0.2);
}

}  // namespace
}  // namespace lanista::search
