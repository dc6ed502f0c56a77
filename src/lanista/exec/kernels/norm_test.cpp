#include "support/exec/kernels/test_support.h"

namespace lanista::kernels {
namespace {

/// Mean and biased variance of the elements picked by `at(i)`, i < count.
template <class At>
std::pair<long double, long double> moments(std::int64_t count, At at) {
  long double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += at(i);
  const long double mean = sum / count;
  for (std::int64_t i = 0; i < count; ++i) squares += (at(i) - mean) * (at(i) - mean);
  return {mean, squares / count};
}

TEST(BatchNorm, NormalisesByTheBatchAndUpdatesRunningStatistics) {
  for_every_case(41, std::views::iota(0, 40), []<class T>(T, Isa, const auto& family, Rng& rng, int i) {
    const std::int64_t rows = i == 0 ? 1 : rng.between(1, 300), c = rng.between(1, i % 3 == 0 ? 150 : 40);
    const auto x = random_values<T>(rng, rows * c, -2, 5), gamma = random_values<T>(rng, c),
               beta = random_values<T>(rng, c);
    const auto old_mean = random_values<T>(rng, c), old_var = random_values<T>(rng, c, 0.5, 2);
    const bool affine = i % 3 != 0;
    std::vector<long double> want(x.size()), mean, inv, new_mean, new_var;
    for (std::int64_t j = 0; j < c; ++j) {
      const auto [m, v] = moments(rows, [&](auto r) { return static_cast<long double>(x[index(r * c + j)]); });
      const long double scale = 1 / std::sqrt(v + 1e-3L), correction = rows > 1 ? rows / (rows - 1.0L) : 1.0L;
      mean.push_back(m);
      inv.push_back(scale);
      new_mean.push_back(0.9L * old_mean[index(j)] + 0.1L * m);
      new_var.push_back(rows > 1 ? 0.9L * old_var[index(j)] + 0.1L * v * correction : old_var[index(j)]);
      for (std::int64_t r = 0; r < rows; ++r) {
        const long double hat = (x[index(r * c + j)] - m) * scale;
        want[index(r * c + j)] = affine ? hat * gamma[index(j)] + beta[index(j)] : hat;
      }
    }

    Guarded<T> y(rows * c), m(c), s(c), rm(c), rv(c);
    family.batch_norm_train(rows, c, 1e-3, 0.1, x.data(), affine ? gamma.data() : nullptr,
                            affine ? beta.data() : nullptr, old_mean.data(), old_var.data(), y.data(), m.data(),
                            s.data(), rm.data(), rv.data());

    // With few rows of nearly equal values 1 / sqrt(var) magnifies the rounding of the mean.
    EXPECT_TRUE(close(want, y, 400)) << rows << " " << c;
    EXPECT_TRUE(close(mean, m, 20));
    EXPECT_TRUE(close(inv, s, 400));
    EXPECT_TRUE(close(new_mean, rm, 20));
    EXPECT_TRUE(close(new_var, rv, 40));
  });
}

// An epoch's last batch may have one row: it has a mean, but its variance of 0 is not the data's.
TEST(BatchNorm, KeepsVarianceForASingleRow) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    const std::vector<T> x{3, -1, 0.5}, beta{1, 2, 3}, old_mean{1, 1, 1}, old_var{0.25, 4, 1e-3F};
    Guarded<T> y(3), mean(3), inv_std(3), new_mean(3), new_var(3);

    family.batch_norm_train(1, 3, 1e-5, 0.5, x.data(), nullptr, beta.data(), old_mean.data(), old_var.data(), y.data(),
                            mean.data(), inv_std.data(), new_mean.data(), new_var.data());

    EXPECT_TRUE(same_bytes(old_var, new_var));
    EXPECT_TRUE(same_bytes(std::vector<T>{2, 0, 0.75}, new_mean));
    EXPECT_TRUE(same_bytes(beta, y));
  });
}

TEST(BatchNorm, EvaluatesWithRunningStatistics) {
  for_every_case(42, std::views::iota(0, 20), []<class T>(T, Isa, const auto& family, Rng& rng, int) {
    const std::int64_t rows = rng.between(1, 20), c = rng.between(1, 150);
    const auto x = random_values<T>(rng, rows * c), gamma = random_values<T>(rng, c), beta = random_values<T>(rng, c);
    const auto mean = random_values<T>(rng, c), var = random_values<T>(rng, c, 0.1, 2);
    std::vector<long double> want;
    for (std::size_t k = 0; k < x.size(); ++k) {
      const std::size_t j = k % index(c);
      want.push_back((static_cast<long double>(x[k]) - mean[j]) / std::sqrt(var[j] + 1e-5L) * gamma[j] + beta[j]);
    }
    Guarded<T> y(rows * c);
    family.batch_norm_eval(rows, c, 1e-5, x.data(), gamma.data(), beta.data(), mean.data(), var.data(), y.data());
    EXPECT_TRUE(close(want, y, 20));
  });
}

TEST(BatchNorm, GivesAChannelTheSameBytesInAnyImage) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(43);
    const std::int64_t rows = 77, c = 21;
    const auto x = random_values<T>(rng, rows * c), dy = random_values<T>(rng, rows * c),
               one = random_values<T>(rng, c);
    Guarded<T> y(rows * c), mean(c), inv(c), rm(c), rv(c), dx(rows * c), dgamma(c), dbeta(c);
    family.batch_norm_train(rows, c, 1e-5, 0.1, x.data(), one.data(), one.data(), one.data(), one.data(), y.data(),
                            mean.data(), inv.data(), rm.data(), rv.data());
    family.batch_norm_grad(rows, c, x.data(), one.data(), mean.data(), inv.data(), dy.data(), dx.data(), dgamma.data(),
                           dbeta.data());
    for (std::int64_t j = 0; j < c; ++j) {
      std::vector<T> x1, dy1, want, want_dx;
      for (std::int64_t r = 0; r < rows; ++r) {
        x1.push_back(x[index(r * c + j)]);
        dy1.push_back(dy[index(r * c + j)]);
        want.push_back(y[r * c + j]);
        want_dx.push_back(dx[r * c + j]);
      }
      const T g = one[index(j)];
      Guarded<T> y1(rows), m1(1), s1(1), rm1(1), rv1(1), dx1(rows), dg1(1), db1(1);
      family.batch_norm_train(rows, 1, 1e-5, 0.1, x1.data(), &g, &g, &g, &g, y1.data(), m1.data(), s1.data(),
                              rm1.data(), rv1.data());
      family.batch_norm_grad(rows, 1, x1.data(), &g, m1.data(), s1.data(), dy1.data(), dx1.data(), dg1.data(),
                             db1.data());
      EXPECT_TRUE(same_bytes(want, y1));
      EXPECT_TRUE(same_bytes(want_dx, dx1));
      EXPECT_TRUE(same_bytes(std::vector<T>{dgamma[j]}, dg1));
      EXPECT_TRUE(same_bytes(std::vector<T>{rv[j]}, rv1));
    }
  });
}

// Both halves on the rows of a whole batch give the bits of the whole kernel, which the golden hashes check.
TEST(BatchNorm, InHalvesGivesTheSameBytes) {
  for_every_case(44, std::views::iota(0, 20), []<class T>(T, Isa, const auto& family, Rng& rng, int i) {
    const std::int64_t rows = rng.between(1, 90), c = rng.between(1, 70);
    const auto x = random_values<T>(rng, rows * c, -2, 5), dy = random_values<T>(rng, rows * c),
               gamma = random_values<T>(rng, c), beta = random_values<T>(rng, c), old = random_values<T>(rng, c);
    const T* scale = i % 3 == 0 ? nullptr : gamma.data();
    Guarded<T> y(rows * c), mean(c), inv(c), rm(c), rv(c), dx(rows * c), dgamma(c), dbeta(c);
    family.batch_norm_train(rows, c, 1e-5, 0.1, x.data(), scale, beta.data(), old.data(), old.data(), y.data(),
                            mean.data(), inv.data(), rm.data(), rv.data());
    family.batch_norm_grad(rows, c, x.data(), scale, mean.data(), inv.data(), dy.data(), dx.data(), dgamma.data(),
                           dbeta.data());

    Guarded<T> y2(rows * c), mean2(c), squares(c), inv2(c), dx2(rows * c), dgamma2(c), dbeta2(c), mg(c), mb(c);
    family.batch_norm_moments(rows, c, x.data(), mean2.data(), squares.data());
    for (std::int64_t j = 0; j < c; ++j) inv2.data()[j] = 1 / std::sqrt(squares[j] / static_cast<T>(rows) + T(1e-5));
    family.batch_norm_apply(rows, c, x.data(), scale, beta.data(), mean2.data(), inv2.data(), y2.data());
    family.batch_norm_grad_sums(rows, c, x.data(), mean.data(), inv.data(), dy.data(), dgamma2.data(), dbeta2.data());
    for (std::int64_t j = 0; j < c; ++j) {
      mg.data()[j] = dgamma2[j] / static_cast<T>(rows);
      mb.data()[j] = dbeta2[j] / static_cast<T>(rows);
    }
    family.batch_norm_grad_apply(rows, c, x.data(), scale, mean.data(), inv.data(), mg.data(), mb.data(), dy.data(),
                                 dx2.data());
    EXPECT_TRUE(same_bytes(mean.inside(), mean2));
    EXPECT_TRUE(same_bytes(inv.inside(), inv2));
    EXPECT_TRUE(same_bytes(y.inside(), y2));
    EXPECT_TRUE(same_bytes(dgamma.inside(), dgamma2));
    EXPECT_TRUE(same_bytes(dbeta.inside(), dbeta2));
    EXPECT_TRUE(same_bytes(dx.inside(), dx2));
  });
}

TEST(LayerNorm, NormalisesEveryRow) {
  for_every_case(44, std::views::iota(0, 40), []<class T>(T, Isa, const auto& family, Rng& rng, int) {
    const std::int64_t rows = rng.between(1, 9), len = rng.between(2, 100);
    const auto x = random_values<T>(rng, rows * len), gamma = random_values<T>(rng, len),
               beta = random_values<T>(rng, len);
    std::vector<long double> want;
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto [m, v] = moments(len, [&](auto j) { return static_cast<long double>(x[index(r * len + j)]); });
      for (std::int64_t j = 0; j < len; ++j) {
        want.push_back((x[index(r * len + j)] - m) / std::sqrt(v + 1e-3L) * gamma[index(j)] + beta[index(j)]);
      }
    }
    Guarded<T> y(rows * len), mean(rows), inv(rows), alone(len);
    family.layer_norm(rows, len, 1e-3, x.data(), gamma.data(), beta.data(), y.data(), mean.data(), inv.data());
    EXPECT_TRUE(close(want, y, 200));
    family.layer_norm(1, len, 1e-3, x.data() + (rows - 1) * len, gamma.data(), beta.data(), alone.data(), mean.data(),
                      inv.data());
    EXPECT_EQ(0, std::memcmp(alone.data(), y.data() + (rows - 1) * len, sizeof(T) * index(len)));
  });
}

TEST(LayerNorm, SumsARowByTheFixedTree) {
  for_every_case(45, std::views::iota(1, 60), []<class T>(T, Isa, const auto& family, Rng& rng, std::int64_t len) {
    const auto x = random_values<T>(rng, len);
    T p[8] = {};
    for (std::int64_t i = 0; i < len; ++i) p[i % 8] += x[index(i)] - x[0];
    const T distances = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
    const T want = x[0] + distances / static_cast<T>(len);
    Guarded<T> y(len), mean(1), inv(1);
    family.layer_norm(1, len, 1e-5, x.data(), nullptr, nullptr, y.data(), mean.data(), inv.data());
    EXPECT_TRUE(same_bytes(std::vector<T>{want}, mean));
  });
}

TEST(GroupNorm, NormalisesEveryGroupOfEverySample) {
  for_every_case(46, std::views::iota(0, 40), []<class T>(T, Isa, const auto& family, Rng& rng, int) {
    const std::int64_t n = rng.between(1, 3), hw = rng.between(2, 30), groups = rng.between(1, 4);
    const std::int64_t width = rng.between(1, 20), c = groups * width;
    const auto x = random_values<T>(rng, n * hw * c), gamma = random_values<T>(rng, c), beta = random_values<T>(rng, c);
    std::vector<long double> want(x.size()), want_mean;
    for (std::int64_t s = 0; s < n * groups; ++s) {
      const std::int64_t sample = s / groups, first = s % groups * width;
      const auto at = [&](std::int64_t k) { return index((sample * hw + k / width) * c + first + k % width); };
      const auto [m, v] = moments(hw * width, [&](auto k) { return static_cast<long double>(x[at(k)]); });
      want_mean.push_back(m);
      for (std::int64_t k = 0; k < hw * width; ++k) {
        const std::size_t channel = index(first + k % width);
        want[at(k)] = (x[at(k)] - m) / std::sqrt(v + 1e-3L) * gamma[channel] + beta[channel];
      }
    }
    Guarded<T> y(n * hw * c), mean(n * groups), inv(n * groups);
    family.group_norm(n, hw, c, groups, 1e-3, x.data(), gamma.data(), beta.data(), y.data(), mean.data(), inv.data());
    EXPECT_TRUE(close(want, y, 400));
    EXPECT_TRUE(close(want_mean, mean, 20));
  });
}

// Equal values have no variance, however large and however many they are. With a plain sum, the rounding error of the
// mean would be as large as 1 / inv_std and would dominate the gradient.
TEST(Norms, OfEqualValuesAreExactWhateverTheirSize) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(47);
    const T inverse = 1 / std::sqrt(static_cast<T>(1e-5));
    for (int i = 0; i < 200; ++i) {
      const std::int64_t count = rng.between(2, 90);
      const T value = static_cast<T>(std::pow(10.0, rng.uniform(-5, 30)) * rng.uniform(-1, 1));
      const std::vector<T> x(index(count), value), one{1};
      const auto dy = random_values<T>(rng, count);
      Guarded<T> y(count), mean(1), inv(1), new_mean(1), new_var(1), dx(count), dgamma(count), dbeta(count);
      const auto expect_exact = [&](const char* kind) {
        EXPECT_EQ(mean[0], value) << kind << " of " << count;
        EXPECT_EQ(inv[0], inverse) << kind << " of " << count;
        long double sum = 0, size = 0;
        for (std::int64_t k = 0; k < count; ++k) {
          EXPECT_EQ(y[k], T(0));
          sum += dx[k];
          size += std::abs(dx[k]);
        }
        EXPECT_LE(std::abs(sum), size * 20 * std::numeric_limits<T>::epsilon()) << kind << " of " << count;
      };

      family.batch_norm_train(count, 1, 1e-5, 0.1, x.data(), nullptr, nullptr, one.data(), one.data(), y.data(),
                              mean.data(), inv.data(), new_mean.data(), new_var.data());
      family.batch_norm_grad(count, 1, x.data(), nullptr, mean.data(), inv.data(), dy.data(), dx.data(), dgamma.data(),
                             dbeta.data());
      expect_exact("batch norm");
      family.layer_norm(1, count, 1e-5, x.data(), nullptr, nullptr, y.data(), mean.data(), inv.data());
      family.layer_norm_grad(1, count, x.data(), nullptr, mean.data(), inv.data(), dy.data(), dx.data(), dgamma.data(),
                             dbeta.data());
      expect_exact("layer norm");
      family.group_norm(1, count, 1, 1, 1e-5, x.data(), nullptr, nullptr, y.data(), mean.data(), inv.data());
      family.group_norm_grad(1, count, 1, 1, x.data(), nullptr, mean.data(), inv.data(), dy.data(), dx.data(),
                             dgamma.data(), dbeta.data());
      expect_exact("group norm");
    }
  });
}

}  // namespace
}  // namespace lanista::kernels
