#include "support/exec/kernels/test_support.h"

namespace lanista::kernels {
namespace {

TEST(Sgd, FollowsItsDefinitionToTheBit) {
  for_every_case(81, std::views::iota(0, 60), []<class T>(T, Isa isa, const auto& family, Rng& rng, int i) {
    const std::int64_t count = rng.between(1, 100);
    const UpdateHyper h{.lr = 0.1,
                        .momentum = i % 4 == 0 ? 0.0 : 0.9,
                        .weight_decay = i % 3 == 0 ? 0.0 : 0.01,
                        .grad_scale = i % 5 == 0 ? 1.0 : 0.25,
                        .nesterov = i % 2 == 0,
                        .step = i < 20 ? 1 : i};
    const auto grad = random_values<T>(rng, count), p0 = random_values<T>(rng, count),
               m0 = random_values<T>(rng, count);
    std::vector<T> want, want_momentum;
    for (std::size_t k = 0; k < grad.size(); ++k) {
      T g = grad[k] * static_cast<T>(h.grad_scale);
      if (h.weight_decay != 0) g = term(isa, static_cast<T>(h.weight_decay), p0[k], g);
      T buffer = m0[k];
      if (h.momentum != 0) {
        buffer = h.step == 1 ? g : term(isa, static_cast<T>(h.momentum), m0[k], g);
        g = h.nesterov ? term(isa, static_cast<T>(h.momentum), buffer, g) : buffer;
      }
      want.push_back(term(isa, static_cast<T>(-h.lr), g, p0[k]));
      want_momentum.push_back(buffer);
    }
    Guarded<T> p(count), m(count);
    std::copy(p0.begin(), p0.end(), p.data());
    std::copy(m0.begin(), m0.end(), m.data());
    T* const slots[] = {m.data()};
    family.update("sgd")->run(count, h, grad.data(), p.data(), slots);
    EXPECT_TRUE(same_bytes(want, p));
    EXPECT_TRUE(same_bytes(want_momentum, m));
  });
}

TEST(Sgd, NeedsNoMomentumBufferWithoutMomentum) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    T p = 1;
    const T g = 2;
    family.update("sgd")->run(1, {.lr = 0.5}, &g, &p, nullptr);
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
        const UpdateHyper h{.lr = 1e-2,
                            .weight_decay = 0.1,
                            .beta1 = 0.9,
                            .beta2 = 0.999,
                            .eps = 1e-8,
                            .grad_scale = 0.5,
                            .step = step};
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
        T* const slots[] = {first.data(), second.data()};
        family.update(decoupled ? "adamw" : "adam")->run(count, h, grad.data(), param.data(), slots);
      }
      EXPECT_TRUE(close(p, param, 60));
      EXPECT_TRUE(close(m, first, 20));
      EXPECT_TRUE(close(v, second, 20));
    }
  });
}

TEST(Lion, FollowsThePublishedUpdateToTheBit) {
  for_every_family([](auto zero, Isa isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(84);
    const UpdateHyper h{.lr = 0.01, .weight_decay = 0.1, .beta1 = 0.9, .beta2 = 0.99, .grad_scale = 0.5};
    auto grad = random_values<T>(rng, 37), p = random_values<T>(rng, 37), m = random_values<T>(rng, 37);
    grad[3] = m[3] = 0;  // no direction: only the decay moves it
    m[4] = std::numeric_limits<T>::quiet_NaN();
    std::vector<T> want, want_m;
    for (std::size_t i = 0; i < grad.size(); ++i) {
      const T g = grad[i] * T(0.5);
      const T toward = term(isa, T(0.9), m[i], static_cast<T>(1.0 - 0.9) * g);
      const T sign = toward > 0 ? T(1) : toward < 0 ? T(-1) : toward;
      want.push_back(term(isa, T(-0.01), sign, p[i] * static_cast<T>(1.0 - 0.01 * 0.1)));
      want_m.push_back(term(isa, T(0.99), m[i], static_cast<T>(1.0 - 0.99) * g));
    }
    T* const slots[] = {m.data()};
    family.update("lion")->run(37, h, grad.data(), p.data(), slots);
    EXPECT_TRUE(std::isnan(p[4]) && std::isnan(m[4]));
    want[4] = p[4] = want_m[4] = m[4] = 0;
    EXPECT_EQ(p, want);
    EXPECT_EQ(m, want_m);
  });
}

TEST(Rmsprop, FollowsItsDefinitionOverSeveralSteps) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(85);
    for (const double momentum : {0.0, 0.8}) {
      const std::int64_t count = 37;
      const auto start = random_values<T>(rng, count);
      std::vector<long double> p(start.begin(), start.end()), v(start.size()), m(start.size());
      Guarded<T> param(count), square(count), buffer(count);
      for (std::int64_t i = 0; i < count; ++i) square.data()[i] = buffer.data()[i] = 0;
      std::copy(start.begin(), start.end(), param.data());
      const UpdateHyper h{
          .lr = 1e-2, .momentum = momentum, .weight_decay = 0.1, .beta2 = 0.99, .eps = 1e-8, .grad_scale = 0.5};
      for (int step = 0; step < 20; ++step) {
        const auto grad = random_values<T>(rng, count);
        for (std::size_t i = 0; i < p.size(); ++i) {
          const long double g = grad[i] * 0.5L + 0.1L * p[i];
          v[i] = 0.99L * v[i] + 0.01L * g * g;
          const long double move = g / (std::sqrt(v[i]) + 1e-8L);
          if (momentum != 0) m[i] = 0.8L * m[i] + move;
          p[i] -= 1e-2L * (momentum != 0 ? m[i] : move);
        }
        T* const slots[] = {square.data(), buffer.data()};
        family.update("rmsprop")->run(count, h, grad.data(), param.data(), slots);
      }
      EXPECT_TRUE(close(p, param, 60));
      EXPECT_TRUE(close(v, square, 20));
      EXPECT_TRUE(close(m, buffer, 60));
    }
  });
}

TEST(EveryUpdate, GivesAnElementTheSameBytesAloneAndInAnArray) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(83);
    const UpdateHyper h{.lr = 1e-2,
                        .momentum = 0.8,
                        .weight_decay = 0.1,
                        .beta1 = 0.9,
                        .beta2 = 0.999,
                        .eps = 1e-8,
                        .grad_scale = 0.5,
                        .step = 7};
    const auto grad = random_values<T>(rng, 29), p0 = random_values<T>(rng, 29), s0 = random_values<T>(rng, 29, 0.1, 1);
    for (const auto& update : family.updates) {
      auto p = p0;
      std::vector<std::vector<T>> slots(update.slots, s0);
      std::vector<T*> at;
      for (auto& slot : slots) at.push_back(slot.data());
      update.run(29, h, grad.data(), p.data(), at.data());
      EXPECT_NE(p, p0) << update.optimizer;
      for (std::size_t i = 0; i < 29; ++i) {
        T p1 = p0[i];
        std::vector<T> own(update.slots, s0[i]);
        std::vector<T*> own_at;
        for (T& slot : own) own_at.push_back(&slot);
        update.run(1, h, &grad[i], &p1, own_at.data());
        EXPECT_EQ(p1, p[i]) << update.optimizer;
        for (std::size_t k = 0; k < own.size(); ++k) EXPECT_EQ(own[k], slots[k][i]) << update.optimizer;
      }
    }
  });
}

}  // namespace
}  // namespace lanista::kernels
