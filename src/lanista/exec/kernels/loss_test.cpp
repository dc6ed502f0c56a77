#include "support/exec/kernels/test_support.h"

namespace lanista::kernels {
namespace {

TEST(CrossEntropy, MatchesItsDefinitionWithAndWithoutSmoothing) {
  for_every_case(71, std::views::iota(0, 60), []<class T>(T, Isa, const auto& family, Rng& rng, int i) {
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
    family.loss("cross_entropy")->of_classes(rows, classes, smoothing, x.data(), target.data(), l.data(), p.data());
    family.loss("cross_entropy")->grad_of_classes(rows, rows, classes, smoothing, p.data(), target.data(), d.data());
    EXPECT_TRUE(close(loss, l, 12));
    EXPECT_TRUE(close(probability, p, 16));
    EXPECT_TRUE(close(gradient, d, 16));

    Guarded<T> softmax(rows * classes), l1(1), p1(classes);
    family.softmax({rows, classes, 1}, x.data(), softmax.data());
    EXPECT_TRUE(same_bytes(softmax.inside(), p));
    const std::int64_t last = rows - 1;
    family.loss("cross_entropy")
        ->of_classes(1, classes, smoothing, x.data() + last * classes, target.data() + last, l1.data(), p1.data());
    EXPECT_TRUE(same_bytes(std::vector<T>{l[last]}, l1)) << "a row alone must equal the row in a batch";
  });
}

TEST(Focal, MatchesItsDefinitionWithAndWithoutSmoothing) {
  for_every_case(76, std::views::iota(0, 60), []<class T>(T, Isa, const auto& family, Rng& rng, int i) {
    const std::int64_t rows = i == 0 ? 150 : rng.between(1, 40), classes = rng.between(2, 30);
    const double smoothing = i % 2 == 0 ? 0.0 : 0.1;
    const auto x = random_values<T>(rng, rows * classes, -4, 4);
    std::vector<std::int32_t> target;
    std::vector<long double> loss, gradient;
    for (std::int64_t r = 0; r < rows; ++r) {
      target.push_back(static_cast<std::int32_t>(rng.between(0, classes - 1)));
      const auto share = [&](std::int64_t k) {
        return static_cast<long double>(smoothing) / classes + (k == target.back() ? 1.0L - smoothing : 0.0L);
      };
      long double sum = 0, total = 0;
      for (std::int64_t j = 0; j < classes; ++j) sum += std::exp(static_cast<long double>(x[index(r * classes + j)]));
      const auto log_p = [&](std::int64_t k) { return x[index(r * classes + k)] - std::log(sum); };
      for (std::int64_t k = 0; k < classes; ++k) {
        const long double rest = 1 - std::exp(log_p(k));
        total -= share(k) * rest * rest * log_p(k);
      }
      loss.push_back(total);
      for (std::int64_t j = 0; j < classes; ++j) {
        long double slope = 0;
        for (std::int64_t k = 0; k < classes; ++k) {
          const long double p = std::exp(log_p(k)), by_p = 2 * (1 - p) * log_p(k) - (1 - p) * (1 - p) / p;
          slope += share(k) * by_p * p * ((k == j ? 1 : 0) - std::exp(log_p(j)));
        }
        gradient.push_back(slope / rows);
      }
    }
    Guarded<T> l(rows), p(rows * classes), d(rows * classes), l1(1), p1(classes);
    family.loss("focal")->of_classes(rows, classes, smoothing, x.data(), target.data(), l.data(), p.data());
    family.loss("focal")->grad_of_classes(rows, rows, classes, smoothing, p.data(), target.data(), d.data());
    EXPECT_TRUE(close(loss, l, 32));
    EXPECT_TRUE(close(gradient, d, 32));
    const std::int64_t last = rows - 1;
    family.loss("focal")->of_classes(1, classes, smoothing, x.data() + last * classes, target.data() + last, l1.data(),
                                     p1.data());
    EXPECT_TRUE(same_bytes(std::vector<T>{l[last]}, l1)) << "a row alone must equal the row in a batch";
  });
}

TEST(Focal, HandlesCertainAndImpossibleRows) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    const std::vector<T> x{T(2e4), T(-2e4), T(2e4), T(-2e4)};
    const std::vector<std::int32_t> target{0, 1};
    std::vector<T> loss(2), p(4), d(4);
    family.loss("focal")->of_classes(2, 2, 0, x.data(), target.data(), loss.data(), p.data());
    family.loss("focal")->grad_of_classes(2, 1, 2, 0, p.data(), target.data(), d.data());
    EXPECT_EQ(loss, (std::vector<T>{0, T(4e4)}));
    EXPECT_EQ(d, (std::vector<T>{0, 0, 1, -1}));
  });
}

TEST(CrossEntropy, StaysFiniteForHugeLogitsAndPropagatesNan) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    const T nan = std::numeric_limits<T>::quiet_NaN();
    const std::vector<T> x{T(1e4), T(-1e4), T(0), T(0), nan, T(1)};
    const std::vector<std::int32_t> target{1, 0, 1};
    std::vector<T> loss(3), p(6);
    family.loss("cross_entropy")->of_classes(3, 2, 0, x.data(), target.data(), loss.data(), p.data());
    EXPECT_EQ(loss[0], T(2e4));
    EXPECT_NEAR(static_cast<double>(loss[1]), std::log(2.0), 1e-6);
    EXPECT_TRUE(std::isnan(loss[2]));
  });
}

TEST(Mse, AveragesSquaresOverARow) {
  for_every_case(72, std::views::iota(0, 30), []<class T>(T, Isa, const auto& family, Rng& rng, int) {
    const std::int64_t rows = rng.between(1, 9), len = rng.between(1, 40);
    const auto a = random_values<T>(rng, rows * len), b = random_values<T>(rng, rows * len);
    std::vector<long double> loss(index(rows)), gradient;
    for (std::size_t k = 0; k < a.size(); ++k) {
      const long double d = static_cast<long double>(a[k]) - b[k];
      loss[k / index(len)] += d * d / len;
      gradient.push_back(2 * d / (rows * len));
    }
    Guarded<T> l(rows), d(rows * len);
    family.loss("mse")->of_values(rows, len, a.data(), b.data(), l.data());
    family.loss("mse")->grad_of_values(rows, rows, len, a.data(), b.data(), d.data());
    EXPECT_TRUE(close(loss, l, 16));
    EXPECT_TRUE(close(gradient, d, 4));
  });
}

struct OfNumbers {
  const char* loss;
  long double (*error)(long double d);
  long double (*slope)(long double d);
};
const OfNumbers kOfNumbers[] = {
    {"mae", [](long double d) { return std::abs(d); },
     [](long double d) { return static_cast<long double>((d > 0) - (d < 0)); }},
    {"huber", [](long double d) { return std::abs(d) <= 1 ? d * d / 2 : std::abs(d) - 0.5L; },
     [](long double d) { return std::clamp(d, -1.0L, 1.0L); }},
};

TEST(MaeAndHuber, AverageTheirErrorsOverARow) {
  for_every_case(75, kOfNumbers, []<class T>(T, Isa, const auto& family, Rng& rng, const OfNumbers& each) {
    for (int i = 0; i < 30; ++i) {
      const std::int64_t rows = rng.between(1, 9), len = rng.between(1, 40);
      auto a = random_values<T>(rng, rows * len, -2, 2);
      const auto b = random_values<T>(rng, rows * len, -2, 2);
      a[0] = b[0];  // the corner of the one, where it has no slope
      std::vector<long double> loss(index(rows)), gradient;
      for (std::size_t k = 0; k < a.size(); ++k) {
        const long double d = static_cast<T>(a[k] - b[k]);
        loss[k / index(len)] += each.error(d) / len;
        gradient.push_back(each.slope(d) / (rows * len));
      }
      Guarded<T> l(rows), d(rows * len);
      family.loss(each.loss)->of_values(rows, len, a.data(), b.data(), l.data());
      family.loss(each.loss)->grad_of_values(rows, rows, len, a.data(), b.data(), d.data());
      EXPECT_TRUE(close(loss, l, 16)) << each.loss;
      EXPECT_TRUE(close(gradient, d, 4)) << each.loss;
    }
  });
}

TEST(MaeAndHuber, PropagateNanAndAcceptInfinity) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    const T nan = std::numeric_limits<T>::quiet_NaN(), much = std::numeric_limits<T>::infinity();
    for (const OfNumbers& each : kOfNumbers) {
      const std::vector<T> prediction{nan, much, -much}, target{0, 0, 0};
      std::vector<T> loss(3), gradient(3);
      family.loss(each.loss)->of_values(3, 1, prediction.data(), target.data(), loss.data());
      family.loss(each.loss)->grad_of_values(3, 3, 1, prediction.data(), target.data(), gradient.data());
      EXPECT_TRUE(std::isnan(loss[0]) && std::isnan(gradient[0])) << each.loss;
      EXPECT_EQ(loss[1], much) << each.loss;
      EXPECT_EQ(loss[2], much) << each.loss;
      EXPECT_EQ(gradient[1], -gradient[2]) << each.loss;
      EXPECT_GT(gradient[1], T(0)) << each.loss;
    }
  });
}

TEST(Bce, MatchesItsDefinition) {
  for_every_case(77, std::views::iota(0, 60), []<class T>(T, Isa, const auto& family, Rng& rng, int) {
    const std::int64_t rows = rng.between(1, 9), len = rng.between(1, 40), total = rows + rng.between(0, 3);
    const auto x = random_values<T>(rng, rows * len, -12, 12);
    std::vector<T> t;
    std::vector<long double> loss(index(rows)), gradient;
    for (std::size_t k = 0; k < x.size(); ++k) {
      t.push_back(rng.bernoulli(0.4) ? T(1) : T(0));
      const auto z = static_cast<long double>(x[k]);
      loss[k / index(len)] += std::log1p(std::exp(t[k] == T(1) ? -z : z)) / len;
      gradient.push_back((1 / (1 + std::exp(-z)) - t[k]) / (total * len));
    }
    Guarded<T> l(rows), d(rows * len), l1(1);
    family.loss("bce")->of_values(rows, len, x.data(), t.data(), l.data());
    family.loss("bce")->grad_of_values(rows, total, len, x.data(), t.data(), d.data());
    EXPECT_TRUE(close(loss, l, 16));
    EXPECT_TRUE(close(gradient, d, 8));
    const std::int64_t last = (rows - 1) * len;
    family.loss("bce")->of_values(1, len, x.data() + last, t.data() + last, l1.data());
    EXPECT_TRUE(same_bytes(std::vector<T>{l[rows - 1]}, l1)) << "a row alone must equal the row in a batch";
  });
}

TEST(Bce, IsStableForLargeLogitsAndPropagatesNan) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    const T nan = std::numeric_limits<T>::quiet_NaN();
    const std::vector<T> x{T(2e4), T(2e4), T(-2e4), T(-2e4), T(-30), nan}, t{1, 0, 1, 0, 0, 1};
    std::vector<T> loss(6), gradient(6);
    family.loss("bce")->of_values(6, 1, x.data(), t.data(), loss.data());
    family.loss("bce")->grad_of_values(6, 1, 1, x.data(), t.data(), gradient.data());
    EXPECT_EQ(std::vector<T>(loss.begin(), loss.begin() + 4), (std::vector<T>{0, T(2e4), T(2e4), 0}));
    EXPECT_EQ(std::vector<T>(gradient.begin(), gradient.begin() + 4), (std::vector<T>{0, 1, -1, 0}));
    // e^-30 is far below the resolution of 1 + e^-30.
    EXPECT_NEAR(static_cast<double>(loss[4]) / std::exp(-30.0), 1, 1e-6);
    EXPECT_TRUE(std::isnan(loss[5]) && std::isnan(gradient[5]));
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
