#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <ranges>
#include <string>
#include <type_traits>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/exec/kernels/kernels.h"

// Helpers of the kernel tests: seeded data, the scalar definition of a term, comparisons, instruction set levels.
namespace lanista::kernels {

/// A signed index as an array index.
inline std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// a b + sum as the level defines it: fused at AVX2 and AVX-512, rounded twice at the portable level.
template <class T>
T term(Isa isa, T a, T b, T sum) {
  if (isa == Isa::kPortable) return a * b + sum;
  return std::fma(a, b, sum);
}

/// `count` values, uniform in [lo, hi).
template <class T>
std::vector<T> random_values(Rng& rng, std::int64_t count, double lo = -1, double hi = 1) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(rng.uniform(lo, hi));
  return values;
}

/// Output buffer of `size` elements with margins. It is filled with -77, so that a write outside the buffer is found.
template <class T>
struct Guarded {
  static constexpr std::int64_t kMargin = 16;
  explicit Guarded(std::int64_t count)
      : size(count), values(static_cast<std::size_t>(count + 2 * kMargin), static_cast<T>(-77)) {}
  T* data() { return values.data() + kMargin; }
  T operator[](std::int64_t i) const { return values[static_cast<std::size_t>(i + kMargin)]; }
  bool margins_are_intact() const {
    for (std::int64_t i = 0; i < kMargin; ++i) {
      if ((*this)[-1 - i] != static_cast<T>(-77) || (*this)[size + i] != static_cast<T>(-77)) return false;
    }
    return true;
  }
  std::vector<T> inside() const { return {values.begin() + kMargin, values.end() - kMargin}; }
  std::int64_t size;
  std::vector<T> values;
};

/// Success if `got` has the bytes of `want` and its margins are unchanged.
template <class T>
::testing::AssertionResult same_bytes(const std::vector<T>& want, const Guarded<T>& got) {
  if (!got.margins_are_intact()) return ::testing::AssertionFailure() << "wrote outside its output";
  if (static_cast<std::int64_t>(want.size()) != got.size) return ::testing::AssertionFailure() << "sizes differ";
  for (std::int64_t i = 0; i < got.size; ++i) {
    const T a = want[static_cast<std::size_t>(i)], b = got[i];
    if (std::memcmp(&a, &b, sizeof(T)) != 0) {
      return ::testing::AssertionFailure() << "element " << i << " of " << got.size << ": want "
                                           << static_cast<double>(a) << ", got " << static_cast<double>(b);
    }
  }
  return ::testing::AssertionSuccess();
}

/// Success if |got - want| <= epsilons * max(1, |want|) * epsilon of T for every element.
template <class T, class W>
::testing::AssertionResult close(const std::vector<W>& want, const Guarded<T>& got, double epsilons) {
  if (!got.margins_are_intact()) return ::testing::AssertionFailure() << "wrote outside its output";
  if (static_cast<std::int64_t>(want.size()) != got.size) return ::testing::AssertionFailure() << "sizes differ";
  const double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  for (std::int64_t i = 0; i < got.size; ++i) {
    const double a = static_cast<double>(want[static_cast<std::size_t>(i)]), b = static_cast<double>(got[i]);
    if (!(std::abs(a - b) <= epsilons * epsilon * std::max(1.0, std::abs(a)))) {
      return ::testing::AssertionFailure() << "element " << i << ": want " << a << ", got " << b;
    }
  }
  return ::testing::AssertionSuccess();
}

/// Calls `body(T{}, isa, kernels<T>(isa))` for every element type and every level that this CPU supports.
template <class Body>
void for_every_family(Body body) {
  for (const Isa isa : available_isas()) {
    {
      SCOPED_TRACE(std::string(isa_name(isa)) + " float");
      body(float{}, isa, kernels<float>(isa));
    }
    {
      SCOPED_TRACE(std::string(isa_name(isa)) + " double");
      body(double{}, isa, kernels<double>(isa));
    }
  }
}

/// Calls `body(T{}, isa, kernels<T>(isa), rng, one)` for each of `cases`, as for_every_family() does. The generator
/// starts anew from `seed` for each type and level.
template <class Cases, class Body>
void for_every_case(std::uint64_t seed, const Cases& cases, Body body) {
  for_every_family([&](auto zero, Isa isa, const auto& family) {
    Rng rng(seed);
    for (const auto& one : cases) body(zero, isa, family, rng, one);
  });
}

/// Checks a kernel from images of shape `s` to others, and its gradient, to the bit, on random values.
/// `define(x, dy, want, want_dx)` adds what the two must give to zeros.
template <class T, class Shape, class Kernel, class Define>
void expect_images(Rng& rng, const Shape& s, Kernel forward, Kernel gradient, Define define) {
  const std::int64_t outputs = s.n * s.oh * s.ow * s.c;
  const auto x = random_values<T>(rng, s.n * s.h * s.w * s.c), dy = random_values<T>(rng, outputs);
  std::vector<T> want(index(outputs)), want_dx(x.size());
  define(x, dy, want, want_dx);
  Guarded<T> y(outputs), dx(s.n * s.h * s.w * s.c);
  forward(s, x.data(), y.data());
  gradient(s, dy.data(), dx.data());
  EXPECT_TRUE(same_bytes(want, y));
  EXPECT_TRUE(same_bytes(want_dx, dx));
}

}  // namespace lanista::kernels
