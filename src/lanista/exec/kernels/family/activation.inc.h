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

template <class T>
constexpr ActivationKernel<T> kActivations[] = {
    {"relu", true, relu<T>, relu_grad<T>},
    {"gelu", false, gelu<T>, gelu_grad<T>},
    {"silu", false, silu<T>, silu_grad<T>},
    {"tanh", true, tanh<T>, tanh_grad<T>},
    {"sigmoid", true, sigmoid<T>, sigmoid_grad<T>},
    {"hard_swish", false, hard_swish<T>, hard_swish_grad<T>},
    {"softsign", false, softsign<T>, softsign_grad<T>},
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
