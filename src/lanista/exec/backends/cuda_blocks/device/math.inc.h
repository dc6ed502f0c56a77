#pragma once
// The polynomials of kernels/family/elementary.inc.h, one element at a time, with the same bits.
#include "lanista/exec/backends/cuda_blocks/device/base.inc.h"

namespace lanista::device::block {
namespace {

constexpr float kMagic = 12582912.0F, kLog2e = 1.44269504088896341F, kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
constexpr float kMost = 88.7228F, kLeast = -87.3365F, kFarTanh = 12.0F;

/// The parts of exp(x): x = exponent * ln 2 + r, and expm1(r).
struct ExpParts {
  int exponent;
  float expm1;
};

BLOCK_FN ExpParts exp_parts(float x) {
  const float shifted = x * kLog2e + kMagic;
  const float n = shifted - kMagic;
  const float r = madd(n, -kLn2Low, madd(n, -kLn2High, x));
  float q = static_cast<float>(1.0 / 5040);
  q = madd(q, r, static_cast<float>(1.0 / 720));
  q = madd(q, r, static_cast<float>(1.0 / 120));
  q = madd(q, r, static_cast<float>(1.0 / 24));
  q = madd(q, r, static_cast<float>(1.0 / 6));
  q = madd(q, r, static_cast<float>(1.0 / 2));
  const int exponent = static_cast<int>(static_cast<u32>(bits_of(shifted)) - static_cast<u32>(bits_of(kMagic)));
  return {exponent, madd(r * r, q, r)};
}

BLOCK_FN float power_of_two(int e) { return real_of(static_cast<int>((static_cast<u32>(e) + 127U) << 23)); }

BLOCK_FN float exp_of(float x) {
  const float inside = x > kMost ? kMost : (x < kLeast ? kLeast : x);
  const ExpParts parts = exp_parts(inside);
  const int half = parts.exponent >> 1;
  const int rest = static_cast<int>(static_cast<u32>(parts.exponent) - static_cast<u32>(half));
  const float y = ((parts.expm1 + 1.0F) * power_of_two(half)) * power_of_two(rest);
  const float bounded = x < kLeast ? 0.0F : y;
  return x > kMost ? infinity() : bounded;
}

BLOCK_FN float expm1_of(float x) {
  const ExpParts parts = exp_parts(x < kLeast ? kLeast : x);
  const float scale = power_of_two(parts.exponent);
  const float y = madd(parts.expm1, scale, scale - 1.0F);
  return x == 0.0F ? x : y;
}

BLOCK_FN float tanh_of(float x) {
  const float size = x < 0.0F ? -x : x;
  const ExpParts parts = exp_parts((size > kFarTanh ? kFarTanh : size) * -2.0F);
  const float scale = power_of_two(parts.exponent);
  const float e = madd(parts.expm1, scale, scale - 1.0F);
  const float y = -e / (e + 2.0F);
  const float result = x < 0.0F ? -y : y;
  return x == 0.0F ? x : result;
}

BLOCK_FN float sigmoid_of(float x) { return 1.0F / (1.0F + exp_of(-x)); }

BLOCK_FN float log_of(float x) {
  constexpr int kHalfRoot = 0x3F3504F3, kMantissa = 0x7FFFFF;
  const int shifted = static_cast<int>(static_cast<u32>(bits_of(x)) - static_cast<u32>(kHalfRoot));
  const int e = shifted >> 23;
  const float m = real_of((shifted & kMantissa) + kHalfRoot);
  const float exponent = real_of(e + bits_of(kMagic)) - kMagic;
  const float f = m - 1.0F;
  const float s = f / (m + 1.0F);
  const float s2 = s * s;
  float p = 2.0F / 11.0F;
  p = madd(p, s2, 2.0F / 9.0F);
  p = madd(p, s2, 2.0F / 7.0F);
  p = madd(p, s2, 2.0F / 5.0F);
  p = madd(p, s2, 2.0F / 3.0F);
  const float low = madd(exponent, kLn2Low, s * s2 * p);
  const float y = exponent * kLn2High + (2.0F * s + low);
  return x < infinity() ? y : x;
}

/// Returns max(x, 0). NaN passes through; both zeros become +0.
BLOCK_FN float relu_of(float x) { return x <= 0.0F ? 0.0F : x; }

/// Returns x limited to the range from low to high. NaN passes through.
BLOCK_FN float clipped(float x, float low, float high) {
  const float raised = x < low ? low : x;
  return raised > high ? high : raised;
}

/// Returns d where y is strictly inside the range from low to high, else zero.
BLOCK_FN float inside(float y, float low, float high, float d) {
  const float above = y <= low ? 0.0F : d;
  return y >= high ? 0.0F : above;
}

/// The epilogue of a call, with the saved values that it reads.
struct Finish {
  Reals saved;
  int after;
  float low, high;

  BLOCK_METHOD float one(float value, float gate) const {
    if (after == kReluEpilogue) return relu_of(value);
    if (after == kClipEpilogue) return clipped(value, low, high);
    return after == kReluGradEpilogue ? (gate <= 0.0F ? 0.0F : value) : inside(gate, low, high, value);
  }
  BLOCK_METHOD bool gates() const { return after == kReluGradEpilogue || after == kClipGradEpilogue; }
  /// Returns the final value of result i, or of four results from i on.
  BLOCK_METHOD float at(int i, float value) const {
    if (after == kNoEpilogue) return value;
    return one(value, gates() ? static_cast<float>(saved[i]) : 0.0F);
  }
  BLOCK_METHOD Four four_at(int i, Four value) const {
    if (after == kNoEpilogue) return value;
    Four gate = {};
    if (gates()) gate = load4(saved, i);
    BLOCK_UNROLL(4)
    for (int j = 0; j < 4; ++j) value.v[j] = one(value.v[j], gate.v[j]);
    return value;
  }
};

BLOCK_FN Finish finish_of(const Call& call, const Frame& f) {
  return {call.at[kGateOperand] != kNowhere ? place(f, call.at[kGateOperand]) : f.slab, call.after, call.x[2],
          call.x[3]};
}

/// Returns the sum of the eight partial sums from p[at] on, in a fixed order.
template <class T, class P>
BLOCK_FN T tree_of(P p, int at) {
  return ((p[at] + p[at + 4]) + (p[at + 2] + p[at + 6])) + ((p[at + 1] + p[at + 5]) + (p[at + 3] + p[at + 7]));
}

/// Returns the normal distribution function.
BLOCK_FN float normal_distribution(float x) {
  const float z = (x < 0.0F ? -x : x) * static_cast<float>(0.70710678118654752440);
  const float t = 2.0F / (z + 2.0F);
  const float y = t * 4.0F - 2.0F;
  constexpr double kSeries[13] = {6.4196979235649026e-01,   1.94764732041858363e-02,  -9.56151478680863164e-03,
                                  -9.46595344482036866e-04, 3.66839497852761452e-04,  4.25233248069077716e-05,
                                  -2.02785781125342432e-05, -1.62429000464702551e-06, 1.3036558355805232e-06,
                                  1.56264417220661432e-08,  -8.52380959149265425e-08, 6.5290544390988515e-09,
                                  5.05934349555146894e-09};
  float before = 0.0F, now = 0.0F;
  BLOCK_UNROLL(13)
  for (int i = 12; i >= 0; --i) {
    const float next = madd(y, now, static_cast<float>(kSeries[i]) - before);
    before = now;
    now = next;
  }
  const float series = madd(madd(y, now, static_cast<float>(-1.30265371978170943)), 0.5F, -before);
  const float tail = t * exp_of(series - z * z) * 0.5F;
  return x < 0.0F ? tail : 1.0F - tail;
}

BLOCK_FN float normal_density(float x) { return exp_of((x * x) * -0.5F) * static_cast<float>(0.39894228040143267794); }

/// Returns log(1 + e) for e from 0 to 1.
BLOCK_FN float log1p_of(float e) {
  const float sum = e + 1.0F, rounded = sum - 1.0F;
  return rounded == 0.0F ? e : log_of(sum) * (e / rounded);
}

BLOCK_FN float softplus_of(float x) {
  const float bent = log1p_of(exp_of(x < 0.0F ? x : -x));
  return x > 0.0F ? x + bent : bent;
}

/// Returns the logarithm; numbers below the least normal one count as zero.
BLOCK_FN float logarithm_of(float x) {
  const float none = x < 0.0F ? infinity() - infinity() : -infinity();
  return x < static_cast<float>(1.17549435e-38) ? none : log_of(x);
}

}  // namespace
}  // namespace lanista::device::block
