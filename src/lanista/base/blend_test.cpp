#include "lanista/base/blend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lanista/base/rng.h"

namespace lanista {
namespace {

using Members = std::vector<std::vector<double>>;

// Straight from the definitions, in long double and with the system's functions.
std::vector<long double> softmax_by_definition(const std::vector<double>& logits, std::size_t at, std::size_t width) {
  std::vector<long double> out;
  long double sum = 0;
  for (std::size_t i = at; i < at + width; ++i) sum += out.emplace_back(std::exp(static_cast<long double>(logits[i])));
  for (long double& p : out) p /= sum;
  return out;
}

struct RandomBlend {
  Members members;
  std::vector<double> shares;
  std::size_t width = 0, rows = 0;
};

RandomBlend random_blend(std::uint64_t seed) {
  Rng rng = Rng(7).split(seed);
  RandomBlend out{{}, {}, 2 + rng.below(4), 1 + rng.below(5)};
  const std::size_t count = 2 + rng.below(4);
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) {
    sum += out.shares.emplace_back(0.1 + rng.uniform());
    auto& member = out.members.emplace_back();
    for (std::size_t i = 0; i < out.rows * out.width; ++i) member.push_back(6 * rng.normal());
  }
  for (double& share : out.shares) share /= sum;
  return out;
}

TEST(Blend, ClassesGiveLogOfMeanProbability) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomBlend one = random_blend(seed);

    const auto seen = blend(Blend::kClasses, one.members, one.shares, one.width);

    for (std::size_t at = 0; at < one.rows * one.width; at += one.width) {
      for (std::size_t i = 0; i < one.width; ++i) {
        long double p = 0;
        for (std::size_t k = 0; k < one.members.size(); ++k) {
          p += static_cast<long double>(one.shares[k]) * softmax_by_definition(one.members[k], at, one.width)[i];
        }
        EXPECT_NEAR(seen[at + i], static_cast<double>(std::log(p)), 1e-12 * (1 + std::abs(seen[at + i])));
      }
    }
  }
}

TEST(Blend, LabelsGiveLogitOfMeanProbability) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomBlend one = random_blend(seed);

    const auto seen = blend(Blend::kLabels, one.members, one.shares, one.width);

    for (std::size_t i = 0; i < seen.size(); ++i) {
      long double yes = 0, no = 0;
      for (std::size_t k = 0; k < one.members.size(); ++k) {
        const auto x = static_cast<long double>(one.members[k][i]);
        yes += static_cast<long double>(one.shares[k]) / (1 + std::exp(-x));
        no += static_cast<long double>(one.shares[k]) / (1 + std::exp(x));
      }
      EXPECT_NEAR(seen[i], static_cast<double>(std::log(yes) - std::log(no)), 1e-12 * (1 + std::abs(seen[i])));
    }
  }
}

TEST(Blend, NumbersGiveWeightedMean) {
  const auto seen = blend(Blend::kNumbers, Members{{1, 2}, {5, -2}}, std::vector{0.75, 0.25}, 2);

  EXPECT_EQ(seen, (std::vector<double>{2, 1}));
}

TEST(Blend, SingleMemberIsUnchanged) {
  for (const Blend how : {Blend::kNumbers, Blend::kClasses, Blend::kLabels}) {
    EXPECT_EQ(blend(how, Members{{3, -1e300}}, std::vector{1.0}, 2), (std::vector<double>{3, -1e300}));
  }
}

TEST(Blend, KeepsTinyProbabilities) {
  const auto classes = blend(Blend::kClasses, Members{{0, -5000}, {0, -7000}}, std::vector{0.5, 0.5}, 2);
  EXPECT_NEAR(classes[0], 0, 1e-15);
  EXPECT_NEAR(classes[1], -5000 + std::log(0.5), 1e-9);

  const auto labels = blend(Blend::kLabels, Members{{-5000}, {-7000}}, std::vector{0.5, 0.5}, 1);
  EXPECT_NEAR(labels[0], -5000 + std::log(0.5), 1e-9);
}

TEST(Blend, PropagatesNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto classes = blend(Blend::kClasses, Members{{1, nan, 1, 2}, {1, 2, 3, 4}}, std::vector{0.5, 0.5}, 2);
  EXPECT_TRUE(std::isnan(classes[0]) && std::isnan(classes[1]));
  EXPECT_FALSE(std::isnan(classes[2]) || std::isnan(classes[3]));

  for (const Blend how : {Blend::kNumbers, Blend::kLabels}) {
    const auto seen = blend(how, Members{{1, nan}, {1, 2}}, std::vector{0.5, 0.5}, 2);
    EXPECT_TRUE(!std::isnan(seen[0]) && std::isnan(seen[1]));
  }
}

TEST(Blend, InfiniteLogitsGiveTheirProbabilities) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto classes = blend(Blend::kClasses, Members{{0, -inf}, {0, -inf}}, std::vector{0.5, 0.5}, 2);
  EXPECT_NEAR(classes[0], 0, 1e-15);
  EXPECT_EQ(classes[1], -inf);
}

}  // namespace
}  // namespace lanista
