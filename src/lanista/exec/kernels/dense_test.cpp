#include "support/exec/kernels/test_support.h"

namespace lanista::kernels {
namespace {

/// c[m][n] by the definition: ascending k from zero, bias last. Element steps as in a strided view.
template <class T>
std::vector<T> product(Isa isa, std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_m,
                       std::int64_t a_k, const T* b, std::int64_t b_k, std::int64_t b_n, const T* bias) {
  std::vector<T> c;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum = term(isa, a[i * a_m + l * a_k], b[l * b_k + j * b_n], sum);
      c.push_back(bias != nullptr ? sum + bias[j] : sum);
    }
  }
  return c;
}

struct Shape {
  std::int64_t rows, in, out;
};

std::vector<Shape> dense_shapes() {
  std::vector<Shape> all{{1, 1, 1}, {32, 64, 64}, {32, 64, 10}, {7, 300, 33}, {40, 530, 17}, {25, 9, 1}, {40, 260, 40}};
  Rng rng(11);
  for (int i = 0; i < 30; ++i) all.push_back({rng.between(1, 130), rng.between(1, 70), rng.between(1, 90)});
  return all;
}

TEST(Linear, EqualsItsScalarDefinitionToTheBit) {
  for_every_family([](auto zero, Isa isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(1);
    for (const auto& [rows, in, out] : dense_shapes()) {
      SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(in) + "x" + std::to_string(out));
      const auto x = random_values<T>(rng, rows * in), w = random_values<T>(rng, in * out);
      const auto bias = random_values<T>(rng, out), dy = random_values<T>(rng, rows * out);
      auto want = product(isa, rows, out, in, x.data(), in, 1, w.data(), out, 1, bias.data());

      Guarded<T> y(rows * out), plain(rows * out), relu(rows * out), dx(rows * in), dw(in * out);
      family.linear(rows, in, out, x.data(), w.data(), bias.data(), y.data());
      family.linear(rows, in, out, x.data(), w.data(), nullptr, plain.data());
      family.linear_relu(rows, in, out, x.data(), w.data(), bias.data(), relu.data());
      family.linear_grad_x(rows, in, out, dy.data(), w.data(), dx.data());
      family.linear_grad_w(rows, in, out, x.data(), dy.data(), dw.data());

      EXPECT_TRUE(same_bytes(want, y));
      EXPECT_TRUE(same_bytes(product<T>(isa, rows, out, in, x.data(), in, 1, w.data(), out, 1, nullptr), plain));
      for (T& value : want) value = value > 0 ? value : T(0);
      EXPECT_TRUE(same_bytes(want, relu));
      EXPECT_TRUE(same_bytes(product<T>(isa, rows, in, out, dy.data(), out, 1, w.data(), 1, out, nullptr), dx));
      EXPECT_TRUE(same_bytes(product<T>(isa, in, out, rows, x.data(), 1, in, dy.data(), out, 1, nullptr), dw));
    }
  });
}

TEST(Linear, KeepsNanThroughTheFusedRelu) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    const std::vector<T> x{T(1), std::numeric_limits<T>::quiet_NaN()}, w{T(2)};
    std::vector<T> y(2);
    family.linear_relu(2, 1, 1, x.data(), w.data(), nullptr, y.data());
    EXPECT_EQ(y[0], T(2));
    EXPECT_TRUE(std::isnan(y[1]));
  });
}

TEST(Matmul, EqualsItsScalarDefinitionForEveryTransposition) {
  for_every_case(2, std::views::iota(0, 60), []<class T>(T, Isa isa, const auto& family, Rng& rng, int i) {
    const MatmulShape s{rng.between(1, 4),  rng.between(1, 40),
                        rng.between(1, 40), i % 7 == 0 ? 600 : rng.between(1, 40),
                        rng.bernoulli(0.5), rng.bernoulli(0.5)};
    const auto a = random_values<T>(rng, s.batch * s.m * s.k), b = random_values<T>(rng, s.batch * s.k * s.n);
    std::vector<T> want;
    for (std::int64_t l = 0; l < s.batch; ++l) {
      const auto part =
          product<T>(isa, s.m, s.n, s.k, a.data() + l * s.m * s.k, s.transpose_a ? 1 : s.k, s.transpose_a ? s.m : 1,
                     b.data() + l * s.k * s.n, s.transpose_b ? 1 : s.n, s.transpose_b ? s.k : 1, nullptr);
      want.insert(want.end(), part.begin(), part.end());
    }

    Guarded<T> c(s.batch * s.m * s.n);
    family.matmul(s, a.data(), b.data(), c.data());

    EXPECT_TRUE(same_bytes(want, c)) << s.batch << " " << s.m << " " << s.n << " " << s.k << s.transpose_a
                                     << s.transpose_b;
  });
}

TEST(ColumnSum, AddsRowsInAscendingOrder) {
  for_every_case(3, std::views::iota(0, 30), []<class T>(T, Isa, const auto& family, Rng& rng, int) {
    const std::int64_t rows = rng.between(1, 200), columns = rng.between(1, 90);
    const auto x = random_values<T>(rng, rows * columns);
    std::vector<T> want(static_cast<std::size_t>(columns));
    for (std::size_t j = 0; j < x.size(); ++j) want[j % want.size()] += x[j];

    Guarded<T> sum(columns);
    family.column_sum(rows, columns, x.data(), sum.data());

    EXPECT_TRUE(same_bytes(want, sum));
  });
}

}  // namespace
}  // namespace lanista::kernels
