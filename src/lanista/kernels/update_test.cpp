#include "lanista/kernels/test_support.h"

namespace lanista::kernels {
namespace {

TEST(Sgd, FollowsItsDefinitionToTheBit) {
  for_every_family([](auto zero, Isa isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(81);
    for (int i = 0; i < 60; ++i) {
      const std::int64_t count = rng.between(1, 100);
      const SgdHyper h{0.1,   i % 4 == 0 ? 0.0 : 0.9, i % 3 == 0 ? 0.0 : 0.01, i % 5 == 0 ? 1.0 : 0.25, i % 2 == 0,
                       i < 20};
      const auto grad = random_values<T>(rng, count), p0 = random_values<T>(rng, count),
                 m0 = random_values<T>(rng, count);
      std::vector<T> want, want_momentum;
      for (std::size_t k = 0; k < grad.size(); ++k) {
        T g = grad[k] * static_cast<T>(h.grad_scale);
        if (h.weight_decay != 0) g = term(isa, static_cast<T>(h.weight_decay), p0[k], g);
        T buffer = m0[k];
        if (h.momentum != 0) {
          buffer = h.first_step ? g : term(isa, static_cast<T>(h.momentum), m0[k], g);
          g = h.nesterov ? term(isa, static_cast<T>(h.momentum), buffer, g) : buffer;
        }
        want.push_back(term(isa, static_cast<T>(-h.lr), g, p0[k]));
        want_momentum.push_back(buffer);
      }
      Guarded<T> p(count), m(count);
      std::copy(p0.begin(), p0.end(), p.data());
      std::copy(m0.begin(), m0.end(), m.data());
      family.sgd(count, h, grad.data(), p.data(), m.data());
      EXPECT_TRUE(same_bytes(want, p));
      EXPECT_TRUE(same_bytes(want_momentum, m));
    }
  });
}

TEST(Sgd, NeedsNoMomentumBufferWithoutMomentum) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    T p = 1;
    const T g = 2;
    family.sgd(1, SgdHyper{0.5, 0, 0, 1, false, true}, &g, &p, nullptr);
    EXPECT_EQ(p, T(0));
  });
}

TEST(Adam, FollowsThePublishedUpdateOverSeveralSteps) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(82);
    for (const bool decoupled : {false, true}) {
      const std::int64_t count = 37;
      const auto start = random_values<T>(rng, count);
      std::vector<long double> p(start.begin(), start.end()), m(start.size()), v(start.size());
      Guarded<T> param(count), first(count), second(count);
      for (std::int64_t i = 0; i < count; ++i) first.data()[i] = second.data()[i] = 0;
      std::copy(start.begin(), start.end(), param.data());
      for (std::int64_t step = 1; step <= 20; ++step) {
        const AdamHyper h{1e-2, 0.9, 0.999, 1e-8, 0.1, 0.5, step, decoupled};
        const auto grad = random_values<T>(rng, count);
        for (std::size_t i = 0; i < p.size(); ++i) {
          long double g = grad[i] * 0.5L;
          if (decoupled) {
            p[i] -= 1e-2L * 0.1L * p[i];
          } else {
            g += 0.1L * p[i];
          }
          m[i] = 0.9L * m[i] + 0.1L * g;
          v[i] = 0.999L * v[i] + 0.001L * g * g;
          const long double corrected = std::sqrt(v[i]) / std::sqrt(1 - std::pow(0.999L, step)) + 1e-8L;
          p[i] -= 1e-2L / (1 - std::pow(0.9L, step)) * m[i] / corrected;
        }
        family.adam(count, h, grad.data(), param.data(), first.data(), second.data());
      }
      EXPECT_TRUE(close(p, param, 60));
      EXPECT_TRUE(close(m, first, 20));
      EXPECT_TRUE(close(v, second, 20));
    }
  });
}

TEST(Adam, GivesAnElementTheSameBytesAloneAndInAnArray) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(83);
    const AdamHyper h{1e-2, 0.9, 0.999, 1e-8, 0.1, 0.5, 7, true};
    const auto grad = random_values<T>(rng, 29), p0 = random_values<T>(rng, 29), s0 = random_values<T>(rng, 29, 0.1, 1);
    auto p = p0, m = s0, v = s0;
    family.adam(29, h, grad.data(), p.data(), m.data(), v.data());
    for (std::size_t i = 0; i < 29; ++i) {
      T p1 = p0[i], m1 = s0[i], v1 = s0[i];
      family.adam(1, h, &grad[i], &p1, &m1, &v1);
      EXPECT_EQ(p1, p[i]);
      EXPECT_EQ(m1, m[i]);
      EXPECT_EQ(v1, v[i]);
    }
  });
}

}  // namespace
}  // namespace lanista::kernels
