#include "lanista/kernels/test_support.h"

namespace lanista::kernels {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

TEST(CrossEntropy, MatchesItsDefinitionWithAndWithoutSmoothing) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(71);
    for (int i = 0; i < 60; ++i) {
      const std::int64_t rows = i == 0 ? 150 : rng.between(1, 40), classes = rng.between(1, 30);
      const double smoothing = i % 2 == 0 ? 0.0 : 0.1;
      const auto x = random_values<T>(rng, rows * classes, -10, 10);
      std::vector<std::int32_t> target;
      std::vector<long double> loss, probability, gradient;
      for (std::int64_t r = 0; r < rows; ++r) {
        target.push_back(static_cast<std::int32_t>(rng.between(0, classes - 1)));
        long double sum = 0, total = 0;
        for (std::int64_t j = 0; j < classes; ++j) sum += std::exp(static_cast<long double>(x[index(r * classes + j)]));
        for (std::int64_t j = 0; j < classes; ++j) {
          const long double log_p = x[index(r * classes + j)] - std::log(sum);
          const long double share =
              static_cast<long double>(smoothing) / classes + (j == target.back() ? 1.0L - smoothing : 0.0L);
          total -= share * log_p;
          probability.push_back(std::exp(log_p));
          gradient.push_back((std::exp(log_p) - share) / rows);
        }
        loss.push_back(total);
      }
      Guarded<T> l(rows), p(rows * classes), d(rows * classes);
      family.cross_entropy(rows, classes, smoothing, x.data(), target.data(), l.data(), p.data());
      family.cross_entropy_grad(rows, classes, smoothing, p.data(), target.data(), d.data());
      EXPECT_TRUE(close(loss, l, 12));
      EXPECT_TRUE(close(probability, p, 16));
      EXPECT_TRUE(close(gradient, d, 16));

      Guarded<T> softmax(rows * classes), l1(1), p1(classes);
      family.softmax({rows, classes, 1}, x.data(), softmax.data());
      EXPECT_TRUE(same_bytes(softmax.inside(), p));
      const std::int64_t last = rows - 1;
      family.cross_entropy(1, classes, smoothing, x.data() + last * classes, target.data() + last, l1.data(),
                           p1.data());
      EXPECT_TRUE(same_bytes(std::vector<T>{l[last]}, l1)) << "a row alone must equal the row in a batch";
    }
  });
}

TEST(CrossEntropy, StaysFiniteForHugeLogitsAndSpreadsANotANumber) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    const T nan = std::numeric_limits<T>::quiet_NaN();
    const std::vector<T> x{T(1e4), T(-1e4), T(0), T(0), nan, T(1)};
    const std::vector<std::int32_t> target{1, 0, 1};
    std::vector<T> loss(3), p(6);
    family.cross_entropy(3, 2, 0, x.data(), target.data(), loss.data(), p.data());
    EXPECT_EQ(loss[0], T(2e4));
    EXPECT_NEAR(static_cast<double>(loss[1]), std::log(2.0), 1e-6);
    EXPECT_TRUE(std::isnan(loss[2]));
  });
}

TEST(Mse, AveragesSquaresOverARow) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(72);
    for (int i = 0; i < 30; ++i) {
      const std::int64_t rows = rng.between(1, 9), len = rng.between(1, 40);
      const auto a = random_values<T>(rng, rows * len), b = random_values<T>(rng, rows * len);
      std::vector<long double> loss(index(rows)), gradient;
      for (std::size_t k = 0; k < a.size(); ++k) {
        const long double d = static_cast<long double>(a[k]) - b[k];
        loss[k / index(len)] += d * d / len;
        gradient.push_back(2 * d / (rows * len));
      }
      Guarded<T> l(rows), d(rows * len);
      family.mse(rows, len, a.data(), b.data(), l.data());
      family.mse_grad(rows, len, a.data(), b.data(), d.data());
      EXPECT_TRUE(close(loss, l, 16));
      EXPECT_TRUE(close(gradient, d, 4));
    }
  });
}

TEST(Mean, AddsInAscendingOrder) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(73);
    const auto x = random_values<T>(rng, 1001);
    T sum = 0;
    for (const T value : x) sum += value;
    EXPECT_EQ(family.mean(1001, x.data()), sum / T(1001));
  });
}

TEST(SquareNorm, FollowsItsBlocksToTheBit) {
  for_every_family([](auto zero, Isa isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(74);
    for (const std::int64_t count : {0, 1, 7, 8, 9, 1023, 1024, 1025, 5000}) {
      const auto x = random_values<T>(rng, count);
      double total = 0;
      for (std::int64_t begin = 0; begin < count; begin += 1024) {
        double p[8] = {};
        for (std::int64_t i = begin; i < std::min<std::int64_t>(count, begin + 1024); ++i) {
          const double v = static_cast<double>(x[index(i)]);
          p[i % 8] = term(isa, v, v, p[i % 8]);
        }
        total += ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
      }
      EXPECT_EQ(family.square_norm(count, x.data()), total) << count;
    }
  });
}

}  // namespace
}  // namespace lanista::kernels
