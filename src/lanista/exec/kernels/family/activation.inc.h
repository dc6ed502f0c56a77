#pragma once
// Activations, softmax along an axis, and other element-wise kernels.

#include "lanista/exec/kernels/family/elementary.inc.h"
#include "lanista/exec/kernels/family/vector_ops.inc.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

template <class T, class F>
inline void map(i64 count, const T* x, T* y, F f) {
  sweep<T>(count, [&](auto lanes, i64 i) { lanes.store(y + i, f(lanes.load(x + i))); });
}

template <class T, class F>
inline void map(i64 count, const T* a, const T* b, T* y, F f) {
  sweep<T>(count, [&](auto lanes, i64 i) { lanes.store(y + i, f(lanes.load(a + i), lanes.load(b + i))); });
}

template <class T>
void relu(i64 count, const T* x, T* y) {
  map<T>(count, x, y, [](auto v) { return relu_of(v); });
}

template <class T>
void relu_grad(i64 count, const T* y, const T* dy, T* dx) {
  map<T>(count, y, dy, dx, [](auto v, auto d) { return v <= T(0) ? decltype(d){} : d; });
}

/// gelu(x) = x sigmoid(2 u). It equals the tanh formula without its cancellation for negative x.
template <class T>
struct Gelu {
  static constexpr T kTwoRoot = static_cast<T>(1.5957691216057307117597842397375);  // 2 sqrt(2 / pi)
  static constexpr T kCubic = static_cast<T>(0.044715);
  template <class V>
  static V gate(V x) {
    const V inner = madd(x * x, kCubic, T(1));
    return sigmoid_of((x * kTwoRoot) * inner);
  }
};

template <class T>
void gelu(i64 count, const T* x, T* y) {
  map<T>(count, x, y, [](auto v) { return v * Gelu<T>::gate(v); });
}

template <class T>
void gelu_grad(i64 count, const T* x, const T* dy, T* dx) {
  map<T>(count, x, dy, dx, [](auto v, auto d) {
    const auto gate = Gelu<T>::gate(v);
    const auto slope = madd(v * v, T(3) * Gelu<T>::kCubic * Gelu<T>::kTwoRoot, Gelu<T>::kTwoRoot);
    return d * madd(v * slope, gate * (T(1) - gate), gate);
  });
}

template <class T>
void silu(i64 count, const T* x, T* y) {
  map<T>(count, x, y, [](auto v) { return v * sigmoid_of(v); });
}

template <class T>
void silu_grad(i64 count, const T* x, const T* dy, T* dx) {
  map<T>(count, x, dy, dx, [](auto v, auto d) {
    const auto gate = sigmoid_of(v);
    return d * madd(v, gate * (T(1) - gate), gate);
  });
}

template <class T>
void tanh(i64 count, const T* x, T* y) {
  map<T>(count, x, y, [](auto v) { return tanh_of(v); });
}

template <class T>
void tanh_grad(i64 count, const T* y, const T* dy, T* dx) {
  map<T>(count, y, dy, dx, [](auto v, auto d) { return d * ((T(1) - v) * (T(1) + v)); });
}

template <class T>
void sigmoid(i64 count, const T* x, T* y) {
  map<T>(count, x, y, [](auto v) { return sigmoid_of(v); });
}

template <class T>
void sigmoid_grad(i64 count, const T* y, const T* dy, T* dx) {
  map<T>(count, y, dy, dx, [](auto v, auto d) { return d * (v * (T(1) - v)); });
}

/// NaN is returned unchanged.
template <class V, class T>
inline V clipped(V x, T low, T high) {
  const V raised = x < low ? spread<V>(low) : x;
  return raised > high ? spread<V>(high) : raised;
}

template <class T>
void hard_swish(i64 count, const T* x, T* y) {
  map<T>(count, x, y, [](auto v) { return v * clipped(madd(v, T(1) / T(6), T(0.5)), T(0), T(1)); });
}

template <class T>
void hard_swish_grad(i64 count, const T* x, const T* dy, T* dx) {
  map<T>(count, x, dy, dx, [](auto v, auto d) {
    const auto bent = d * madd(v, T(1) / T(3), T(0.5));
    const auto open = v >= T(3) ? d : bent;
    return v <= T(-3) ? decltype(d){} : open;
  });
}

template <class T, class V>
inline V softsign_denominator(V x) {
  return (x < T(0) ? -x : x) + T(1);
}

template <class T>
void softsign(i64 count, const T* x, T* y) {
  map<T>(count, x, y, [](auto v) { return v / softsign_denominator<T>(v); });
}

template <class T>
void softsign_grad(i64 count, const T* x, const T* dy, T* dx) {
  map<T>(count, x, dy, dx, [](auto v, auto d) {
    const auto below = softsign_denominator<T>(v);
    return d / (below * below);
  });
}

/// The normal distribution function. With z = |x| / sqrt(2) and t = 2 / (2 + z), the logarithm of erfc(z) is
/// log t - z^2 plus a Chebyshev series in 2 t - 1.
template <class T>
struct Normal {
  static constexpr int kTerms = sizeof(T) == 4 ? 14 : 28;
  static constexpr double kSeries[28] = {
      -1.30265371978170943,     6.4196979235649026e-01,   1.94764732041858363e-02,  -9.56151478680863164e-03,
      -9.46595344482036866e-04, 3.66839497852761452e-04,  4.25233248069077716e-05,  -2.02785781125342432e-05,
      -1.62429000464702551e-06, 1.3036558355805232e-06,   1.56264417220661432e-08,  -8.52380959149265425e-08,
      6.5290544390988515e-09,   5.05934349555146894e-09,  -9.91364156493033087e-10, -2.27365122293183586e-10,
      9.6467911020155268e-11,   2.39403808303911474e-12,  -6.8860275264975534e-12,  8.94487927309072572e-13,
      3.13092139934295808e-13,  -1.12708223613672524e-13, 3.81090525518923206e-16,  7.10609761360923699e-15,
      -1.5230282014571043e-15,  -9.457494571291234e-17,   1.21023718922427899e-16,  -2.81666308774717697e-17};
  template <class V>
  static V distribution(V x) {
    const V z = (x < T(0) ? -x : x) * static_cast<T>(0.70710678118654752440);
    const V t = T(2) / (z + T(2));
    const V y = t * T(4) - T(2);
    V before{}, now{};
#pragma GCC unroll 28
    for (int i = kTerms - 1; i > 0; --i) {
      const V next = madd(y, now, static_cast<T>(kSeries[i]) - before);
      before = now;
      now = next;
    }
    const V series = madd(madd(y, now, spread<V>(static_cast<T>(kSeries[0]))), T(0.5), -before);
    const V tail = t * exp_of(series - z * z) * T(0.5);
    return x < T(0) ? tail : T(1) - tail;
  }
  template <class V>
  static V density(V x) {
    return exp_of((x * x) * T(-0.5)) * static_cast<T>(0.39894228040143267794);  // 1 / sqrt(2 pi)
  }
};

template <class T>
void gelu_erf(i64 count, const T* x, T* y) {
  map<T>(count, x, y, [](auto v) { return v * Normal<T>::distribution(v); });
}

template <class T>
void gelu_erf_grad(i64 count, const T* x, const T* dy, T* dx) {
  map<T>(count, x, dy, dx,
         [](auto v, auto d) { return d * madd(v, Normal<T>::density(v), Normal<T>::distribution(v)); });
}

/// log(1 + e) for e from 0 to 1. The quotient corrects the rounding of 1 + e.
template <class V>
inline V log1p_of(V e) {
  using T = typename SimdOf<V>::Element;
  const V sum = e + T(1), rounded = sum - T(1);
  const V bent = log_of(sum) * (e / rounded);
  return rounded == T(0) ? e : bent;
}

template <class T>
void softplus(i64 count, const T* x, T* y) {
  map<T>(count, x, y, [](auto v) {
    const auto bent = log1p_of(exp_of(v < T(0) ? v : -v));
    return v > T(0) ? v + bent : bent;
  });
}

template <class T>
void softplus_grad(i64 count, const T* x, const T* dy, T* dx) {
  map<T>(count, x, dy, dx, [](auto v, auto d) { return d * sigmoid_of(v); });
}

template <class T>
void exp(i64 count, const T* x, T* y) {
  map<T>(count, x, y, [](auto v) { return exp_of(v); });
}

template <class T>
void exp_grad(i64 count, const T* y, const T* dy, T* dx) {
  map<T>(count, y, dy, dx, [](auto v, auto d) { return d * v; });
}

template <class T>
void log(i64 count, const T* x, T* y) {
  map<T>(count, x, y, [](auto v) {
    using V = decltype(v);
    // Numbers below the least normal one count as zero.
    const V none =
        v < T(0) ? spread<V>(static_cast<T>(__builtin_nan(""))) : spread<V>(-static_cast<T>(__builtin_inf()));
    return v < LogConstants<T>::kLeastNormal ? none : log_of(v);
  });
}

template <class T>
void log_grad(i64 count, const T* x, const T* dy, T* dx) {
  map<T>(count, x, dy, dx, [](auto v, auto d) { return d / v; });
}

template <class T>
void sqrt(i64 count, const T* x, T* y) {
  map<T>(count, x, y, [](auto v) { return sqrt_of(v); });
}

template <class T>
void sqrt_grad(i64 count, const T* y, const T* dy, T* dx) {
  map<T>(count, y, dy, dx, [](auto v, auto d) { return d / (v + v); });
}

template <class T>
constexpr ActivationKernel<T> kActivations[] = {
    {"relu", true, relu<T>, relu_grad<T>},
    {"gelu", false, gelu<T>, gelu_grad<T>},
    {"silu", false, silu<T>, silu_grad<T>},
    {"tanh", true, tanh<T>, tanh_grad<T>},
    {"sigmoid", true, sigmoid<T>, sigmoid_grad<T>},
    {"hard_swish", false, hard_swish<T>, hard_swish_grad<T>},
    {"softsign", false, softsign<T>, softsign_grad<T>},
    {"gelu_erf", false, gelu_erf<T>, gelu_erf_grad<T>},
    {"softplus", false, softplus<T>, softplus_grad<T>},
    {"exp", true, exp<T>, exp_grad<T>},
    {"log", false, log<T>, log_grad<T>},
    {"sqrt", true, sqrt<T>, sqrt_grad<T>},
};

template <class T>
void add(i64 count, const T* a, const T* b, T* y) {
  map<T>(count, a, b, y, [](auto u, auto v) { return u + v; });
}

template <class T>
void sub(i64 count, const T* a, const T* b, T* y) {
  map<T>(count, a, b, y, [](auto u, auto v) { return u - v; });
}

template <class T>
void mul(i64 count, const T* a, const T* b, T* y) {
  map<T>(count, a, b, y, [](auto u, auto v) { return u * v; });
}

template <class T>
void div(i64 count, const T* a, const T* b, T* y) {
  map<T>(count, a, b, y, [](auto u, auto v) { return u / v; });
}

template <class T>
void scale(i64 count, T factor, const T* x, T* y) {
  map<T>(count, x, y, [factor](auto v) { return v * factor; });
}

/// Largest element; a NaN may be passed over (the exponentials bring it back).
template <class T>
inline T row_max(i64 len, const T* x) {
  constexpr i64 kSlots = 8 / Simd<T>::kWidth;
  const T least = -static_cast<T>(__builtin_inf());
  Vec<T> partial[kSlots];
#pragma GCC unroll 4
  for (i64 j = 0; j < kSlots; ++j) partial[j] = Simd<T>::set(least);
  eight_partials<T>(len, partial, [&](auto lanes, i64 i, auto most) {
    const auto v = lanes.load_or(x + i, least);
    return v > most ? v : most;
  });
  T p[8];
#pragma GCC unroll 4
  for (i64 j = 0; j < kSlots; ++j) Simd<T>::store(p + j * Simd<T>::kWidth, partial[j]);
  T most = p[0];
  for (int j = 1; j < 8; ++j) most = p[j] > most ? p[j] : most;
  return most;
}

/// y = exp(x - most), and its sum. y may equal x.
template <class T>
inline T exp_row(i64 len, T most, const T* x, T* y) {
  return tree_sum<T>(len, [&](auto lanes, i64 i, auto acc) {
    const auto e = exp_of(lanes.load(x + i) - most);
    lanes.store(y + i, e);
    return acc + lanes.keep(e);
  });
}

/// Divides a row in vectors of the width that the sum has just stored. A wider load would wait for those stores.
template <class T>
inline void divide_row(i64 len, T sum, T* y) {
  sweep_by<Simd<T>>(len, [&](auto lanes, i64 i) { lanes.store(y + i, lanes.load(y + i) / sum); });
}

template <class T>
inline void softmax_row(i64 len, const T* x, T* y) {
  divide_row<T>(len, exp_row<T>(len, row_max<T>(len, x), x, y), y);
}

template <class T>
void softmax(const AxisShape& s, const T* x, T* y) {
  for (i64 o = 0; o < s.outer; ++o) {
    const T* xo = x + o * s.len * s.inner;
    T* yo = y + o * s.len * s.inner;
    if (s.inner == 1) {
      softmax_row<T>(s.len, xo, yo);
      continue;
    }
    sweep<T>(s.inner, [&](auto lanes, i64 i) {
      auto most = lanes.set(-static_cast<T>(__builtin_inf()));
      for (i64 l = 0; l < s.len; ++l) {
        const auto v = lanes.load(xo + l * s.inner + i);
        most = v > most ? v : most;
      }
      auto sum = lanes.set(T(0));
      for (i64 l = 0; l < s.len; ++l) {
        const auto e = exp_of(lanes.load(xo + l * s.inner + i) - most);
        sum += e;
        lanes.store(yo + l * s.inner + i, e);
      }
      for (i64 l = 0; l < s.len; ++l) {
        T* p = yo + l * s.inner + i;
        lanes.store(p, lanes.load(p) / sum);
      }
    });
  }
}

/// dx = y (dy - sum y dy).
template <class T>
void softmax_grad(const AxisShape& s, const T* y, const T* dy, T* dx) {
  for (i64 o = 0; o < s.outer; ++o) {
    const T* yo = y + o * s.len * s.inner;
    const T* go = dy + o * s.len * s.inner;
    T* xo = dx + o * s.len * s.inner;
    if (s.inner == 1) {
      const T dot = tree_sum<T>(
          s.len, [&](auto lanes, i64 i, auto acc) { return madd(lanes.load(yo + i), lanes.load(go + i), acc); });
      map<T>(s.len, yo, go, xo, [dot](auto v, auto d) { return v * (d - dot); });
      continue;
    }
    sweep<T>(s.inner, [&](auto lanes, i64 i) {
      auto dot = lanes.set(T(0));
      for (i64 l = 0; l < s.len; ++l) {
        dot = madd(lanes.load(yo + l * s.inner + i), lanes.load(go + l * s.inner + i), dot);
      }
      for (i64 l = 0; l < s.len; ++l) {
        const i64 at = l * s.inner + i;
        lanes.store(xo + at, lanes.load(yo + at) * (lanes.load(go + at) - dot));
      }
    });
  }
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
