#include "lanista/plan/cost/time_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::plan {
namespace {

using Row = std::vector<long double>;

/// Returns the prediction by its definition, in long double: by elimination, and with a full sort of the neighbours.
long double by_definition(const std::vector<TimedRow>& rows, double penalty, const std::vector<double>& asked) {
  const std::size_t n = rows.size(), p = asked.size();
  Row mean(p, 0), deviation(p, 0);
  for (std::size_t f = 0; f < p; ++f) {
    for (const auto& row : rows) mean[f] += row.features[f];
    mean[f] /= static_cast<long double>(n);
    for (const auto& row : rows) deviation[f] += (row.features[f] - mean[f]) * (row.features[f] - mean[f]);
    deviation[f] = std::sqrt(deviation[f] / static_cast<long double>(n));
  }
  const auto scaled = [&](const std::vector<double>& features) {
    Row out(p, 0);
    for (std::size_t f = 0; f < p; ++f) {
      if (deviation[f] > 1e-9L) out[f] = (features[f] - mean[f]) / deviation[f];
    }
    return out;
  };
  std::vector<Row> x;
  long double intercept = 0;
  for (const auto& row : rows) {
    x.push_back(scaled(row.features));
    intercept += row.value;
  }
  intercept /= static_cast<long double>(n);
  std::vector<Row> system(p, Row(p + 1, 0));  // The matrix X'X + penalty, and X'y.
  for (std::size_t a = 0; a < p; ++a) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t b = 0; b < p; ++b) system[a][b] += x[i][a] * x[i][b];
      system[a][p] += x[i][a] * (rows[i].value - intercept);
    }
    system[a][a] += penalty;
  }
  for (std::size_t a = 0; a < p; ++a) {
    for (std::size_t below = 0; below < p; ++below) {
      if (below == a) continue;
      const long double factor = system[below][a] / system[a][a];
      for (std::size_t b = 0; b <= p; ++b) system[below][b] -= factor * system[a][b];
    }
  }
  const auto line = [&](const Row& at) {
    long double value = intercept;
    for (std::size_t f = 0; f < p; ++f) {
      long double least = x[0][f], most = x[0][f];
      for (const Row& row : x) {
        least = std::min(least, row[f]);
        most = std::max(most, row[f]);
      }
      value += std::min(std::max(at[f], least), most) * system[f][p] / system[f][f];
    }
    return value;
  };
  const Row at = scaled(asked);
  std::vector<std::pair<long double, long double>> near;  // Distance and residual.
  for (std::size_t i = 0; i < n; ++i) {
    long double square = 0;
    for (std::size_t f = 0; f < p; ++f) square += (at[f] - x[i][f]) * (at[f] - x[i][f]);
    near.emplace_back(std::sqrt(square / static_cast<long double>(p)), rows[i].value - line(x[i]));
  }
  std::sort(near.begin(), near.end());
  long double sum = 0, weights = 2;
  for (std::size_t k = 0; k < std::min<std::size_t>(3, n); ++k) {
    sum += near[k].second / (near[k].first + 0.05L);
    weights += 1 / (near[k].first + 0.05L);
  }
  return line(at) + sum / weights;
}

/// Returns random rows, two for each thing.
std::vector<TimedRow> random_rows(Rng& rng, std::size_t count, std::size_t features) {
  std::vector<TimedRow> rows;
  for (std::size_t i = 0; i < count; ++i) {
    TimedRow row{"thing " + std::to_string(i / 2), {}, rng.normal()};
    for (std::size_t f = 0; f < features; ++f) row.features.push_back(f == 1 ? 3.0 : rng.uniform(0, 20));
    rows.push_back(std::move(row));
  }
  return rows;
}

TEST(TimeModel, IsRidgeRegressionWithTheResidualsOfNeighbours) {
  Rng rng(3);
  for (int round = 0; round < 60; ++round) {
    const std::size_t features = 2 + rng.below(7);
    const auto rows = random_rows(rng, 1 + rng.below(30), features);
    const double penalty = rng.uniform(0.05, 12);
    const TimeModel model = TimeModel::fit(rows, penalty);
    for (int i = 0; i < 5; ++i) {
      std::vector<double> asked;
      for (std::size_t f = 0; f < features; ++f) asked.push_back(rng.uniform(-5, 25));
      const auto wanted = static_cast<double>(by_definition(rows, penalty, asked));
      EXPECT_NEAR(model.predict(asked), wanted, 1e-9 * (1 + std::abs(wanted)));
    }
  }
}

// Every thing is held out with all its rows. The penalty is the one with the smallest error.
TEST(TimeModel, ReportsItsErrorOnHeldOutRows) {
  Rng rng(4);
  const auto rows = random_rows(rng, 24, 4);
  const TimeModel model = TimeModel::fit(rows);
  double least = 1e300, of_penalty = 0;
  for (const double penalty : {10.0, 0.1, 1.0}) {
    std::vector<double> off;
    for (std::size_t thing = 0; thing < 12; ++thing) {
      std::vector<TimedRow> others = rows;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(2 * thing),
                   others.begin() + static_cast<std::ptrdiff_t>(2 * thing + 2));
      std::vector<double> of_thing;
      for (const std::size_t i : {2 * thing, 2 * thing + 1}) {
        const auto guess = static_cast<double>(by_definition(others, penalty, rows[i].features));
        of_thing.push_back(100 * std::abs(std::exp(guess - rows[i].value) - 1));
      }
      off.push_back(std::min(of_thing[0], of_thing[1]));
    }
    std::sort(off.begin(), off.end());
    if (off[5] < least) {
      least = off[5];
      of_penalty = penalty;
    }
  }
  EXPECT_EQ(model.error().num_things, 12U);
  EXPECT_NEAR(model.error().median, least, 1e-6 * least);
  EXPECT_EQ(model.penalty(), of_penalty);
}

TEST(TimeModel, FindsAPowerLaw) {
  Rng rng(5);
  std::vector<TimedRow> rows;
  for (int i = 0; i < 60; ++i) {
    const double a = rng.uniform(0, 8), b = rng.uniform(0, 8);
    rows.push_back({std::to_string(i), {a, b}, 0.3 + 0.7 * a - 0.2 * b + 0.01 * rng.normal()});
  }
  const TimeModel model = TimeModel::fit(rows);
  EXPECT_NEAR(model.predict({4, 4}), 0.3 + 0.7 * 4 - 0.2 * 4, 0.02);
  EXPECT_LT(model.error().median, 3);
}

TEST(TimeModel, OfOneRowReturnsItsTime) {
  const TimeModel model = TimeModel::fit({{"a", {1, 2}, 0.5}, {"a", {1, 2}, 0.7}});
  EXPECT_NEAR(model.predict({9, -3}), 0.6, 1e-12);
  EXPECT_EQ(model.error().num_things, 0U);
}

}  // namespace
}  // namespace lanista::plan
