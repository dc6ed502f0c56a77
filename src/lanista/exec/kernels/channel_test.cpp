#include "support/exec/kernels/test_support.h"

namespace lanista::kernels {
namespace {

TEST(Gate, MultipliesAndSumsChannelByChannel) {
  for_every_case(81, std::views::iota(0, 30), []<class T>(T, Isa isa, const auto& family, Rng& rng, int) {
    const std::int64_t n = rng.between(1, 3), rows = rng.between(1, 11), c = rng.between(1, 20);
    const auto x = random_values<T>(rng, n * rows * c), g = random_values<T>(rng, n * c),
               dy = random_values<T>(rng, n * rows * c);
    std::vector<T> want, want_dg(g.size()), want_sum;
    for (std::int64_t i = 0; i < n * rows * c; ++i) {
      const std::int64_t gate = i / (rows * c) * c + i % c;
      want.push_back(x[index(i)] * g[index(gate)]);
      want_sum.push_back(x[index(i)] + g[index(i % c)]);
    }
    for (std::int64_t s = 0; s < n; ++s) {
      for (std::int64_t k = 0; k < c; ++k) {
        T part[4] = {};  // row r belongs to partial sum r mod 4
        for (std::int64_t r = 0; r < rows; ++r) {
          const std::size_t at = index((s * rows + r) * c + k);
          part[r % 4] = term(isa, x[at], dy[at], part[r % 4]);
        }
        want_dg[index(s * c + k)] = (part[0] + part[2]) + (part[1] + part[3]);
      }
    }
    Guarded<T> y(n * rows * c), dg(n * c), sum(n * rows * c);
    family.gate(n, rows, c, x.data(), g.data(), y.data());
    family.gate_grad(n, rows, c, x.data(), dy.data(), dg.data());
    family.row_add(n * rows, c, x.data(), g.data(), sum.data());
    EXPECT_TRUE(same_bytes(want, y));
    EXPECT_TRUE(same_bytes(want_dg, dg));
    EXPECT_TRUE(same_bytes(want_sum, sum));
  });
}

/// One row of lrn and its gradient by the formulas.
void lrn_row(const LrnShape& s, const double* x, const double* dy, double* y, double* dx) {
  const auto window = [&](std::int64_t of) {
    const std::int64_t first = of - (s.size - 1) / 2;
    return std::pair{std::max<std::int64_t>(first, 0), std::min(first + s.size, s.c)};
  };
  std::vector<double> base(index(s.c), s.bias);
  const double slope = s.alpha / static_cast<double>(s.size);
  for (std::int64_t i = 0; i < s.c; ++i) {
    const auto [begin, end] = window(i);
    for (std::int64_t j = begin; j < end; ++j) base[index(i)] += slope * x[j] * x[j];
    y[i] = x[i] * std::pow(base[index(i)], -s.beta);
  }
  for (std::int64_t i = 0; i < s.c; ++i) dx[i] = dy[i] * std::pow(base[index(i)], -s.beta);
  for (std::int64_t j = 0; j < s.c; ++j) {
    const auto [begin, end] = window(j);
    for (std::int64_t i = begin; i < end; ++i) {
      dx[i] -= 2 * slope * s.beta * x[i] * dy[j] * x[j] * std::pow(base[index(j)], -s.beta - 1);
    }
  }
}

TEST(Lrn, FollowsItsFormulaAndItsDerivative) {
  for_every_case(82, std::views::iota(0, 40), []<class T>(T, Isa, const auto& family, Rng& rng, int) {
    const LrnShape s{rng.between(1, 4), rng.between(1, 20),  rng.between(1, 25),
                     rng.uniform(0, 3), rng.uniform(0, 1.5), rng.uniform(0.5, 2)};
    const auto x = random_values<T>(rng, s.rows * s.c, -2, 2), dy = random_values<T>(rng, s.rows * s.c);
    const std::vector<double> wide_x(x.begin(), x.end()), wide_dy(dy.begin(), dy.end());
    std::vector<double> want(x.size()), want_dx(x.size());
    for (std::int64_t r = 0; r < s.rows; ++r) {
      lrn_row(s, &wide_x[index(r * s.c)], &wide_dy[index(r * s.c)], &want[index(r * s.c)], &want_dx[index(r * s.c)]);
    }
    Guarded<T> y(s.rows * s.c), dx(s.rows * s.c), scratch(2 * (s.c + s.size));
    family.lrn(s, x.data(), y.data(), scratch.data());
    EXPECT_TRUE(close(want, y, 64));
    family.lrn_grad(s, x.data(), dy.data(), dx.data(), scratch.data());
    EXPECT_TRUE(close(want_dx, dx, 256));
    EXPECT_TRUE(scratch.margins_are_intact());
  });
}

TEST(Lrn, GivesARowTheSameBytesInAnyBatch) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(83);
    const LrnShape all{5, 13, 4, 0.7, 0.75, 1};
    LrnShape one = all;
    one.rows = 1;
    const auto x = random_values<T>(rng, all.rows * all.c), dy = random_values<T>(rng, all.rows * all.c);
    std::vector<T> y(x.size()), dx(x.size()), scratch(2 * (13 + 4));
    family.lrn(all, x.data(), y.data(), scratch.data());
    family.lrn_grad(all, x.data(), dy.data(), dx.data(), scratch.data());
    for (std::int64_t r = 0; r < all.rows; ++r) {
      const auto row = [&](const std::vector<T>& of) {
        return std::vector<T>(of.begin() + r * all.c, of.begin() + (r + 1) * all.c);
      };
      Guarded<T> own(all.c), own_dx(all.c);
      family.lrn(one, row(x).data(), own.data(), scratch.data());
      family.lrn_grad(one, row(x).data(), row(dy).data(), own_dx.data(), scratch.data());
      EXPECT_TRUE(same_bytes(row(y), own));
      EXPECT_TRUE(same_bytes(row(dx), own_dx));
    }
  });
}

}  // namespace
}  // namespace lanista::kernels
