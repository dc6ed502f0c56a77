#include <functional>

#include "support/exec/kernels/test_support.h"

namespace lanista::kernels {
namespace {

/// A kernel with its parameters bound, and its reference.
template <class T>
struct Piece {
  std::string name;
  std::function<void(std::int64_t, const T*, T*)> run;
  std::function<void(std::int64_t, const T*, const T*, T*)> grad;
  bool from_output;  ///< whether the gradient reads y
  std::function<double(double)> value, slope;
};

template <class T>
std::vector<Piece<T>> pieces(const Kernels<T>& k) {
  using I = std::int64_t;
  const auto gate = [](double x) { return std::min(std::max(x / 6 + 0.5, 0.0), 1.0); };
  return {
      {"leaky_relu", [&](I n, const T* x, T* y) { k.leaky_relu(n, T(0.25), x, y); },
       [&](I n, const T* x, const T* dy, T* dx) { k.leaky_relu_grad(n, T(0.25), x, dy, dx); }, false,
       [](double x) { return x < 0 ? x / 4 : x; }, [](double x) { return x > 0 ? 1 : 0.25; }},
      {"elu", [&](I n, const T* x, T* y) { k.elu(n, T(0.5), x, y); },
       [&](I n, const T* y, const T* dy, T* dx) { k.elu_grad(n, T(0.5), y, dy, dx); }, true,
       [](double x) { return x > 0 ? x : std::expm1(x) / 2; }, [](double x) { return x > 0 ? 1 : std::exp(x) / 2; }},
      {"clip", [&](I n, const T* x, T* y) { k.clip(n, T(-0.5), T(2), x, y); },
       [&](I n, const T* y, const T* dy, T* dx) { k.clip_grad(n, T(-0.5), T(2), y, dy, dx); }, true,
       [](double x) { return std::min(std::max(x, -0.5), 2.0); }, [](double x) { return x > -0.5 && x < 2 ? 1 : 0; }},
      {"hard_sigmoid", [&](I n, const T* x, T* y) { k.hard_sigmoid(n, T(0.25), T(0.5), x, y); },
       [&](I n, const T* y, const T* dy, T* dx) { k.hard_sigmoid_grad(n, T(0.25), y, dy, dx); }, true,
       [](double x) { return std::min(std::max(x / 4 + 0.5, 0.0), 1.0); },
       [](double x) { return x > -2 && x < 2 ? 0.25 : 0; }},
      {"hard_swish", [&](I n, const T* x, T* y) { k.activation("hard_swish")->forward(n, x, y); },
       [&](I n, const T* x, const T* dy, T* dx) { k.activation("hard_swish")->gradient(n, x, dy, dx); }, false,
       [gate](double x) { return x * gate(x); }, [](double x) { return x <= -3 ? 0 : (x >= 3 ? 1 : x / 3 + 0.5); }}};
}

TEST(Piecewise, FollowsItsDefinitionWithItsSlope) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(71);
    for (const Piece<T>& piece : pieces<T>(family)) {
      for (const std::int64_t count : {1, 3, 8, 17, 200}) {
        auto x = random_values<T>(rng, count, -5, 5);
        const auto dy = random_values<T>(rng, count);
        std::vector<double> want, want_dx;
        for (std::size_t i = 0; i < x.size(); ++i) {
          want.push_back(piece.value(static_cast<double>(x[i])));
          want_dx.push_back(static_cast<double>(dy[i]) * piece.slope(static_cast<double>(x[i])));
        }
        Guarded<T> y(count), dx(count);

        piece.run(count, x.data(), y.data());
        piece.grad(count, piece.from_output ? y.data() : x.data(), dy.data(), dx.data());

        EXPECT_TRUE(close(want, y, 8)) << piece.name;
        EXPECT_TRUE(close(want_dx, dx, 8)) << piece.name;
      }
    }
  });
}

TEST(Piecewise, KeepsNanAndHasZeroGradientAtTheEnds) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    const T nan = std::numeric_limits<T>::quiet_NaN(), infinite = std::numeric_limits<T>::infinity();
    const std::vector<T> x{nan, infinite};
    std::vector<T> y(2);
    for (const Piece<T>& piece : pieces<T>(family)) {
      piece.run(2, x.data(), y.data());
      EXPECT_TRUE(std::isnan(y[0])) << piece.name;
      EXPECT_GT(y[1], T(0)) << piece.name;
    }
    const std::vector<T> ends{T(-0.5), T(2)}, dy{T(1), T(1)};
    family.clip_grad(2, T(-0.5), T(2), ends.data(), dy.data(), y.data());
    EXPECT_EQ(y, (std::vector<T>{0, 0}));
  });
}

TEST(Difference, AndQuotientRoundOnce) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(72);
    const auto a = random_values<T>(rng, 29), b = random_values<T>(rng, 29, 1, 2);
    std::vector<T> difference, quotient;
    for (std::size_t i = 0; i < a.size(); ++i) {
      difference.push_back(a[i] - b[i]);
      quotient.push_back(a[i] / b[i]);
    }
    Guarded<T> y(29), z(29);
    family.sub(29, a.data(), b.data(), y.data());
    family.div(29, a.data(), b.data(), z.data());
    EXPECT_TRUE(same_bytes(difference, y));
    EXPECT_TRUE(same_bytes(quotient, z));
  });
}

}  // namespace
}  // namespace lanista::kernels
