#include <functional>
#include <set>

#include "support/exec/kernels/test_support.h"

namespace lanista::kernels {
namespace {

using Reference = std::function<long double(long double)>;

long double gelu_of(long double x) {
  const long double u = std::sqrt(2.0L / std::acos(-1.0L)) * (x + 0.044715L * x * x * x);
  return x / (1.0L + std::exp(-2.0L * u));
}

template <class T>
struct Activation {
  std::string name;
  std::function<void(std::int64_t, const T*, T*)> run;
  Reference reference;
};

template <class T>
std::vector<Activation<T>> activations(const Kernels<T>& k) {
  return {{"gelu", k.activation("gelu")->forward, gelu_of},
          {"silu", k.activation("silu")->forward, [](long double x) { return x / (1.0L + std::exp(-x)); }},
          {"tanh", k.activation("tanh")->forward, [](long double x) { return std::tanh(x); }},
          {"sigmoid", k.activation("sigmoid")->forward, [](long double x) { return 1.0L / (1.0L + std::exp(-x)); }},
          {"softsign", k.activation("softsign")->forward, [](long double x) { return x / (1.0L + std::abs(x)); }},
          {"gelu_erf", k.activation("gelu_erf")->forward,
           [](long double x) { return x * std::erfc(-x * std::sqrt(0.5L)) / 2; }},
          {"softplus", k.activation("softplus")->forward,
           [](long double x) { return std::max(x, 0.0L) + std::log1p(std::exp(-std::abs(x))); }},
          {"exp", k.activation("exp")->forward, [](long double x) { return std::exp(x); }},
          {"log", k.activation("log")->forward, [](long double x) { return std::log(x); }},
          {"sqrt", k.activation("sqrt")->forward, [](long double x) { return std::sqrt(x); }},
          {"elu", [&k](std::int64_t count, const T* x, T* y) { k.elu(count, T(1), x, y); },
           [](long double x) { return x > 0 ? x : std::expm1(x); }}};
}

// Piecewise linear activations, which other tests compare to the bit: relu below, hard_swish in piecewise_test.cpp.
const std::set<std::string_view> kExact{"relu", "hard_swish"};

TEST(Activation, HasAReferenceForEveryOperator) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    std::set<std::string_view> known = kExact;
    const auto all = activations<T>(family);
    for (const auto& activation : all) known.insert(activation.name);
    for (const auto& row : family.activations) EXPECT_TRUE(known.contains(row.op)) << row.op;
  });
}

template <class T>
std::vector<T> probes() {
  Rng rng(31);
  std::vector<T> x = random_values<T>(rng, 4000, -12, 12);
  for (const T v : random_values<T>(rng, 1000, -80, 80)) x.push_back(v);
  for (T tiny = 1; tiny > T(1e-30); tiny /= 3) {
    x.push_back(tiny);
    x.push_back(-tiny);
  }
  x.push_back(0);
  return x;
}

TEST(Activation, IsAccurateToAFewUnitsInTheLastPlace) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    const auto x = probes<T>();
    for (const auto& activation : activations<T>(family)) {
      std::vector<T> y(x.size());
      activation.run(static_cast<std::int64_t>(x.size()), x.data(), y.data());
      for (std::size_t i = 0; i < x.size(); ++i) {
        const long double want = activation.reference(x[i]);
        if (std::abs(want) < std::numeric_limits<T>::min() * 16) continue;
        if (!std::isfinite(want)) {
          ASSERT_TRUE(std::isnan(want) ? std::isnan(y[i]) : y[i] == want) << activation.name << " of " << x[i];
          continue;
        }
        // exp(u) magnifies the rounding of its argument, which grows with |u|.
        const long double size = std::abs(x[i]);
        const long double argument = activation.name == "gelu"       ? size * (1.6L + 0.0714L * size * size)
                                     : activation.name == "gelu_erf" ? size * size
                                                                     : size;
        const long double tolerance = std::numeric_limits<T>::epsilon() * (8.0L + 4.0L * argument);
        ASSERT_LE(std::abs(y[i] - want), tolerance * std::abs(want)) << activation.name << " of " << x[i];
      }
    }
  });
}

TEST(Activation, EluIsWithinTwoUnitsInTheLastPlace) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    std::vector<T> x;
    for (int i = 0; i <= 200000; ++i) x.push_back(T(-i) / T(10000));
    for (T tiny = 1; tiny > T(1e-30); tiny /= T(1.5)) x.push_back(-tiny);
    std::vector<T> y(x.size());

    family.elu(static_cast<std::int64_t>(x.size()), T(1), x.data(), y.data());

    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double want = std::expm1(static_cast<long double>(x[i]));
      const T near = std::abs(static_cast<T>(want));
      const long double unit =
          static_cast<long double>(std::nextafter(near, std::numeric_limits<T>::infinity())) - near;
      ASSERT_LE(std::abs(y[i] - want), 2 * unit) << x[i];
    }
  });
}

TEST(Activation, GeluFollowsItsTanhFormEverywhere) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    const auto x = probes<T>();
    std::vector<T> y(x.size());
    family.activation("gelu")->forward(static_cast<std::int64_t>(x.size()), x.data(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double tolerance = 8 * std::numeric_limits<T>::epsilon() * std::max(T(1), std::abs(x[i]));
      ASSERT_LE(std::abs(y[i] - gelu_of(x[i])), tolerance) << x[i];
    }
  });
}

TEST(Activation, SaturatesAndKeepsSpecialValues) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    const T nan = std::numeric_limits<T>::quiet_NaN(), infinite = std::numeric_limits<T>::infinity();
    const std::vector<T> x{nan, infinite, -infinite, T(0), T(1e4), T(-1e4)};
    std::vector<T> y(x.size());
    family.activation("tanh")->forward(6, x.data(), y.data());
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_EQ((std::vector<T>(y.begin() + 1, y.end())), (std::vector<T>{1, -1, 0, 1, -1}));
    family.activation("sigmoid")->forward(6, x.data(), y.data());
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_EQ((std::vector<T>(y.begin() + 1, y.end())), (std::vector<T>{1, 0, T(0.5), 1, 0}));
    family.activation("relu")->forward(6, x.data(), y.data());
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_EQ((std::vector<T>(y.begin() + 1, y.end())), (std::vector<T>{infinite, 0, 0, T(1e4), 0}));
    family.elu(6, T(2), x.data(), y.data());
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_EQ((std::vector<T>(y.begin() + 1, y.end())), (std::vector<T>{infinite, -2, 0, T(1e4), -2}));
  });
}

TEST(Activation, GivesAnElementTheSameBytesAloneAndInAnArray) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    const auto x = probes<T>();
    std::vector<T> y(x.size());
    for (const auto& activation : activations<T>(family)) {
      activation.run(static_cast<std::int64_t>(x.size()), x.data(), y.data());
      for (std::size_t i = 0; i < x.size(); i += 7) {
        for (std::int64_t count = 1; count <= 9 && i + 9 < x.size(); ++count) {
          Guarded<T> part(count);
          activation.run(count, x.data() + i, part.data());
          const auto from = y.begin() + static_cast<std::ptrdiff_t>(i);
          ASSERT_TRUE(same_bytes(std::vector<T>(from, from + count), part)) << activation.name;
        }
      }
    }
  });
}

TEST(Activation, ReluAndItsGradientFollowTheirDefinition) {
  for_every_case(32, std::views::iota(1, 40), []<class T>(T, Isa, const auto& family, Rng& rng, std::int64_t count) {
    const auto x = random_values<T>(rng, count), dy = random_values<T>(rng, count);
    std::vector<T> want, want_dx;
    for (std::size_t i = 0; i < x.size(); ++i) {
      want.push_back(x[i] > 0 ? x[i] : T(0));
      want_dx.push_back(x[i] > 0 ? dy[i] : T(0));
    }
    Guarded<T> y(count), dx(count);
    family.activation("relu")->forward(count, x.data(), y.data());
    family.activation("relu")->gradient(count, y.data(), dy.data(), dx.data());
    EXPECT_TRUE(same_bytes(want, y));
    EXPECT_TRUE(same_bytes(want_dx, dx));
  });
}

TEST(ElementWise, AddsMultipliesAndScales) {
  for_every_case(33, std::views::iota(1, 40), []<class T>(T, Isa, const auto& family, Rng& rng, std::int64_t count) {
    const auto a = random_values<T>(rng, count), b = random_values<T>(rng, count);
    std::vector<T> sum, product, scaled;
    for (std::size_t i = 0; i < a.size(); ++i) {
      sum.push_back(a[i] + b[i]);
      product.push_back(a[i] * b[i]);
      scaled.push_back(a[i] * T(0.3));
    }
    Guarded<T> y(count);
    family.add(count, a.data(), b.data(), y.data());
    EXPECT_TRUE(same_bytes(sum, y));
    family.mul(count, a.data(), b.data(), y.data());
    EXPECT_TRUE(same_bytes(product, y));
    family.scale(count, T(0.3), a.data(), y.data());
    EXPECT_TRUE(same_bytes(scaled, y));
  });
}

template <class T>
std::vector<long double> softmax_reference(const AxisShape& s, const std::vector<T>& x) {
  std::vector<long double> y(x.size());
  for (std::int64_t o = 0; o < s.outer; ++o) {
    for (std::int64_t i = 0; i < s.inner; ++i) {
      const auto at = [&](std::int64_t l) { return static_cast<std::size_t>((o * s.len + l) * s.inner + i); };
      long double most = x[at(0)], sum = 0;
      for (std::int64_t l = 0; l < s.len; ++l) most = std::max<long double>(most, x[at(l)]);
      for (std::int64_t l = 0; l < s.len; ++l) sum += y[at(l)] = std::exp(x[at(l)] - most);
      for (std::int64_t l = 0; l < s.len; ++l) y[at(l)] /= sum;
    }
  }
  return y;
}

TEST(Softmax, MatchesItsDefinitionAlongAnyAxis) {
  for_every_case(34, std::views::iota(0, 40), []<class T>(T, Isa, const auto& family, Rng& rng, int) {
    const AxisShape s{rng.between(1, 5), rng.between(1, 40), rng.bernoulli(0.5) ? 1 : rng.between(2, 19)};
    const auto x = random_values<T>(rng, s.outer * s.len * s.inner, -20, 20);
    Guarded<T> y(s.outer * s.len * s.inner);
    family.softmax(s, x.data(), y.data());
    EXPECT_TRUE(close(softmax_reference(s, x), y, 64));
  });
}

TEST(Softmax, SumsARowByTheFixedTreeAtEveryWidth) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    // Zeros make the exponentials exact, so every result is 1 / len.
    for (std::int64_t len = 1; len < 70; ++len) {
      Guarded<T> y(len);
      const std::vector<T> x(static_cast<std::size_t>(len), T(3));
      family.softmax({1, len, 1}, x.data(), y.data());
      EXPECT_TRUE(same_bytes(std::vector<T>(x.size(), T(1) / static_cast<T>(len)), y));
    }
  });
}

TEST(Softmax, GivesARowTheSameBytesAloneAndInABatch) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(35);
    const auto x = random_values<T>(rng, 9 * 13, -5, 5), dy = random_values<T>(rng, 9 * 13);
    Guarded<T> all(9 * 13), one(13), all_dx(9 * 13), one_dx(13);
    family.softmax({9, 13, 1}, x.data(), all.data());
    family.softmax_grad({9, 13, 1}, all.data(), dy.data(), all_dx.data());
    for (int r = 0; r < 9; ++r) {
      family.softmax({1, 13, 1}, x.data() + r * 13, one.data());
      family.softmax_grad({1, 13, 1}, one.data(), dy.data() + r * 13, one_dx.data());
      EXPECT_EQ(0, std::memcmp(one.data(), all.data() + r * 13, sizeof(T) * 13));
      EXPECT_EQ(0, std::memcmp(one_dx.data(), all_dx.data() + r * 13, sizeof(T) * 13));
    }
  });
}

TEST(Softmax, GivesZeroToMinusInfinity) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    const T never = -std::numeric_limits<T>::infinity();
    const std::vector<T> x{1, never, 3, never, never, never, 7, never, never, never};
    const std::vector<T> left{1, 3};
    for (const AxisShape& s : {AxisShape{2, 5, 1}, AxisShape{1, 5, 2}}) {
      std::vector<T> turned(x.size()), y(x.size()), two(2);
      const auto at = [&](std::size_t row, std::size_t i) { return s.inner == 1 ? 5 * row + i : 2 * i + row; };
      for (std::size_t k = 0; k < x.size(); ++k) turned[at(k / 5, k % 5)] = x[k];

      family.softmax(s, turned.data(), y.data());
      family.softmax({1, 2, 1}, left.data(), two.data());

      for (const std::size_t masked : {1U, 3U, 4U}) EXPECT_EQ(y[at(0, masked)], T(0));
      EXPECT_EQ(y[at(0, 0)], two[0]);
      EXPECT_EQ(y[at(0, 2)], two[1]);
      EXPECT_EQ(y[at(1, 1)], T(1));
    }
    // A row of minus infinities has no softmax; PyTorch gives NaN too.
    for (const AxisShape& s : {AxisShape{2, 5, 1}, AxisShape{1, 5, 2}}) {
      std::vector<T> none(10, never), y(10);
      family.softmax(s, none.data(), y.data());
      for (const T value : y) EXPECT_TRUE(std::isnan(value));
    }
  });
}

}  // namespace
}  // namespace lanista::kernels
