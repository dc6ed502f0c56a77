#include "lanista/app/report/forest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "lanista/base/rng.h"

namespace lanista::report {
namespace {

using Point = std::vector<std::uint8_t>;
using Function = std::function<double(const Point&)>;

std::vector<double> random_weights(std::size_t cells, Rng& rng) {
  std::vector<double> out;
  double sum = 0;
  for (std::size_t c = 0; c < cells; ++c) sum += out.emplace_back(rng.uniform(0.2, 2.0));
  for (double& weight : out) weight /= sum;
  return out;
}

ForestAxis even_axis(std::size_t cells, bool ordered) {
  return {std::vector<double>(cells, 1.0 / static_cast<double>(cells)), ordered, {}};
}

/// Functional analysis of variance by its definition: sums over all points of the grid with their weights.
struct BruteForce {
  std::map<std::size_t, std::vector<double>> means;
  std::map<std::vector<std::size_t>, double> shares;
  std::map<std::pair<std::size_t, std::size_t>, std::map<std::pair<std::size_t, std::size_t>, double>> pairs;

  BruteForce(const std::vector<ForestAxis>& axes, const Function& f) {
    const auto each = [&](const std::function<void(const Point&, double)>& visit) {
      Point point(axes.size(), 0);
      while (true) {
        double weight = 1;
        for (std::size_t a = 0; a < axes.size(); ++a) weight *= axes[a].weights[point[a]];
        visit(point, weight);
        std::size_t a = 0;
        while (a < axes.size() && ++point[a] == axes[a].weights.size()) point[a++] = 0;
        if (a == axes.size()) return;
      }
    };
    double mean = 0, variance = 0;
    each([&](const Point& p, double w) { mean += w * f(p); });
    each([&](const Point& p, double w) { variance += w * std::pow(f(p) - mean, 2); });
    for (std::size_t a = 0; a < axes.size(); ++a) {
      auto& main_effects = means[a];
      main_effects.assign(axes[a].weights.size(), 0.0);
      each([&](const Point& p, double w) { main_effects[p[a]] += w / axes[a].weights[p[a]] * f(p); });
      double own = 0;
      for (std::size_t c = 0; c < main_effects.size(); ++c)
        own += axes[a].weights[c] * std::pow(main_effects[c] - mean, 2);
      shares[{a}] = own / variance;
    }
    for (std::size_t a = 0; a < axes.size(); ++a) {
      for (std::size_t b = a + 1; b < axes.size(); ++b) {
        std::map<std::pair<std::size_t, std::size_t>, double> both;
        each([&](const Point& p, double w) {
          both[{p[a], p[b]}] += w / axes[a].weights[p[a]] / axes[b].weights[p[b]] * f(p);
        });
        double own = 0;
        for (const auto& [at, value] : both) {
          own += axes[a].weights[at.first] * axes[b].weights[at.second] * std::pow(value - mean, 2);
        }
        shares[{a, b}] = own / variance - shares[{a}] - shares[{b}];
        pairs[{a, b}] = std::move(both);
      }
    }
  }
};

struct Sampled {
  std::vector<std::uint8_t> cells;
  std::vector<double> response;
};

/// Rows that are sampled by the weights of cells, without a cell on axes that do not apply. `noise` is the standard
/// deviation of the response.
Sampled sampled(const std::vector<ForestAxis>& axes, const Function& f, std::size_t rows, double noise, Rng rng) {
  Sampled out;
  for (std::size_t row = 0; row < rows; ++row) {
    Point point;
    for (const ForestAxis& axis : axes) {
      double at = rng.uniform();
      std::size_t cell = 0;
      while (cell + 1 < axis.weights.size() && at >= axis.weights[cell]) at -= axis.weights[cell++];
      point.push_back(static_cast<std::uint8_t>(cell));
    }
    out.response.push_back(f(point) + noise * rng.normal());
    for (std::size_t a = 0; a < axes.size(); ++a) {
      bool means = axes[a].when.empty();
      for (const auto& condition : axes[a].when) means = means || (condition.cells >> point[condition.axis] & 1U) != 0;
      out.cells.push_back(means ? point[a] : kNoCell);
    }
  }
  return out;
}

/// The mean of the trees' predictions at a point.
double mean_prediction(const Forest& forest, const Point& point) {
  double sum = 0;
  for (std::size_t tree = 0; tree < forest.trees(); ++tree) sum += forest.predict(tree, point);
  return sum / static_cast<double>(forest.trees());
}

TEST(Forest, SharesAndMeansMatchPredictions) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Rng rng = Rng(seed).split("forest");
    std::vector<ForestAxis> axes;
    for (const std::size_t cells : {3U, 5U, 4U, 7U}) {
      axes.push_back({random_weights(cells, rng), rng.bernoulli(0.5), {}});
    }
    axes[2].when = {{0, 0b101}};
    axes[3].when = {{1, 0b01101}, {2, 0b0011}};
    std::vector<double> noise;
    for (int k = 0; k < 3 * 5 * 4 * 7; ++k) noise.push_back(rng.normal());
    const Function any = [&](const Point& p) {
      return noise[static_cast<std::size_t>(p[0] + 3 * p[1])] * 2 + noise[static_cast<std::size_t>(p[2] + 4 * p[3])];
    };
    const Sampled data = sampled(axes, any, 200, 0.3, rng.split("rows"));

    const Forest forest = Forest::grow(axes, data.cells, data.response, {.trees = 6, .min_leaf = 2, .seed = seed});

    std::map<std::vector<std::size_t>, double> shares;
    for (std::size_t t = 0; t < forest.trees(); ++t) {
      const BruteForce own(axes, [&](const Point& p) { return forest.predict(t, p); });
      for (const auto& [of, share] : own.shares) shares[of] += share / static_cast<double>(forest.trees());
    }
    const BruteForce whole(axes, [&](const Point& p) { return mean_prediction(forest, p); });
    for (std::size_t a = 0; a < axes.size(); ++a) {
      EXPECT_NEAR(forest.share(a).mean, (shares[{a}]), 1e-9) << "seed " << seed << " axis " << a;
      const std::vector<double> marginal = forest.marginal(a);
      for (std::size_t c = 0; c < marginal.size(); ++c) EXPECT_NEAR(marginal[c], whole.means.at(a)[c], 1e-9);
      for (std::size_t b = a + 1; b < axes.size(); ++b) {
        EXPECT_NEAR(forest.share(a, b).mean, (shares[{a, b}]), 1e-9) << "seed " << seed << " axes " << a << ", " << b;
        EXPECT_EQ(forest.share(a, b).mean, forest.share(a, b).mean);
        const std::vector<double> both = forest.marginal(a, b), turned = forest.marginal(b, a);
        const std::size_t rows = axes[a].weights.size(), columns = axes[b].weights.size();
        ASSERT_EQ(both.size(), rows * columns);
        for (const auto& [at, mean] : whole.pairs.at({a, b})) {
          EXPECT_NEAR(both[at.first * columns + at.second], mean, 1e-9)
              << "seed " << seed << " axes " << a << ", " << b;
          EXPECT_NEAR(turned[at.second * rows + at.first], mean, 1e-9);
        }
      }
    }
  }
}

// Leaves of a third of the rows leave room for one cut or two a tree.
TEST(Forest, PairMeansIncludeUncutAxes) {
  const std::vector<ForestAxis> axes{even_axis(3, true), even_axis(5, true), even_axis(2, true)};
  const Function f = [](const Point& p) { return 10.0 * p[0] + 3.0 * p[1] + 7.0 * p[2]; };
  const Sampled data = sampled(axes, f, 200, 0, Rng(6));

  const Forest forest = Forest::grow(axes, data.cells, data.response, {.trees = 9, .min_leaf = 66, .seed = 3});

  const BruteForce whole(axes, [&](const Point& p) { return mean_prediction(forest, p); });
  for (const auto& [pair, means] : whole.pairs) {
    const auto [a, b] = pair;
    const std::vector<double> both = forest.marginal(a, b), turned = forest.marginal(b, a);
    for (const auto& [at, mean] : means) {
      EXPECT_NEAR(both[at.first * axes[b].weights.size() + at.second], mean, 1e-9) << "axes " << a << ", " << b;
      EXPECT_NEAR(turned[at.second * axes[a].weights.size() + at.first], mean, 1e-9);
    }
  }
}

TEST(Forest, IgnoresInactiveConditionalAxes) {
  std::vector<ForestAxis> axes{even_axis(2, false), even_axis(6, true)};
  axes[1].when = {{0, 0b01}};
  const Function f = [](const Point& p) { return p[0] == 0 ? 1.0 * p[1] : 9.0; };
  const Sampled data = sampled(axes, f, 300, 0.1, Rng(4));

  const Forest forest = Forest::grow(axes, data.cells, data.response);

  for (std::uint8_t cell = 1; cell < 6; ++cell)
    EXPECT_EQ(mean_prediction(forest, Point{1, cell}), mean_prediction(forest, Point{1, 0}));
  EXPECT_GT(mean_prediction(forest, Point{0, 5}), mean_prediction(forest, Point{0, 0}) + 3);
}

struct Known {
  const char* name;
  std::vector<ForestAxis> axes;
  Function f;
};

std::vector<Known> known_functions() {
  const auto x = [](std::uint8_t cell) { return (cell + 0.5) / 16; };
  std::vector<ForestAxis> conditional{even_axis(2, false), even_axis(16, true), even_axis(16, true)};
  conditional[1].when = {{0, 0b10}};
  return {{"additive",
           {even_axis(16, true), even_axis(16, true), even_axis(4, false), even_axis(16, true)},
           [x](const Point& p) { return 3 * x(p[0]) + std::sin(6 * x(p[1])) + 0.5 * (p[2] * 7 % 4); }},
          {"multiplicative",
           {even_axis(16, true), even_axis(16, true), even_axis(16, true)},
           [x](const Point& p) { return x(p[0]) * x(p[1]); }},
          {"conditional", conditional, [x](const Point& p) { return p[0] == 0 ? 0.4 : 2 * std::abs(x(p[1]) - 0.3); }},
          {"one of many", std::vector<ForestAxis>(6, even_axis(5, true)),
           [](const Point& p) { return std::exp(-0.3 * std::pow(p[4] - 2.6, 2)); }}};
}

// The statistical error: 600 rows with noise of a twentieth of a unit, shares within 0.08 of the true ones.
TEST(Forest, FindsTheSharesOfKnownFunctions) {
  for (const Known& known : known_functions()) {
    const BruteForce truth(known.axes, known.f);
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const Sampled data = sampled(known.axes, known.f, 600, 0.05, Rng(seed).split(known.name));

      const Forest forest = Forest::grow(known.axes, data.cells, data.response, {.seed = seed});

      EXPECT_GT(forest.explained(), 0.7) << known.name;
      for (const auto& [of, share] : truth.shares) {
        const double found = of.size() == 1 ? forest.share(of[0]).mean : forest.share(of[0], of[1]).mean;
        EXPECT_NEAR(found, share, 0.08) << known.name << " seed " << seed << " axes " << of[0] << "-" << of.back();
      }
    }
  }
}

// Neither axis has an effect alone, so a greedy tree finds the first cut by chance: tolerance 0.2.
TEST(Forest, FindsPureInteraction) {
  const std::vector<ForestAxis> axes(3, even_axis(16, true));
  const Function f = [](const Point& p) { return (p[0] < 8) == (p[2] < 8) ? 1.0 : 0.0; };
  const Sampled data = sampled(axes, f, 600, 0.05, Rng(3));

  const Forest forest = Forest::grow(axes, data.cells, data.response);

  EXPECT_NEAR(forest.share(0, 2).mean, 1, 0.2);
  EXPECT_LT(forest.share(1).mean, 0.05);
}

TEST(Forest, ExplainsNoVarianceOfNoise) {
  const std::vector<ForestAxis> axes(3, even_axis(16, true));
  const Sampled data = sampled(
      axes, [](const Point&) { return 0.0; }, 300, 1, Rng(9));

  EXPECT_LT(Forest::grow(axes, data.cells, data.response).explained(), 0.1);
}

TEST(Forest, IsDeterministic) {
  const std::vector<ForestAxis> axes(3, even_axis(16, true));
  const Sampled data = sampled(
      axes, [](const Point& p) { return 1.0 * p[0] * p[1]; }, 100, 1, Rng(9));

  const Forest a = Forest::grow(axes, data.cells, data.response), b = Forest::grow(axes, data.cells, data.response);

  EXPECT_EQ(a.share(0).mean, b.share(0).mean);
  EXPECT_EQ(a.share(0, 1).mean, b.share(0, 1).mean);
  EXPECT_NE(a.share(0).mean, Forest::grow(axes, data.cells, data.response, {.seed = 2}).share(0).mean);
}

TEST(Forest, IsConstantWithoutRows) {
  const Forest empty = Forest::grow({even_axis(2, true)}, {}, {});
  EXPECT_EQ(empty.share(0).mean, 0);
  EXPECT_TRUE(std::isnan(empty.explained()));

  const std::vector<std::uint8_t> cells{0, 1, 0, 1, 1};
  const std::vector<double> equal(5, 7.0);
  const Forest flat = Forest::grow({even_axis(2, true)}, cells, equal);
  EXPECT_EQ(flat.share(0).mean, 0);
  EXPECT_EQ(mean_prediction(flat, Point{1}), 7);
}

}  // namespace
}  // namespace lanista::report
