#pragma once
// Piecewise linear activations, and the exponential linear unit.

#include "lanista/exec/kernels/family/activation.inc.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

/// d where y is strictly between the limits, else zero.
template <class V, class T>
inline V inside(V y, T low, T high, V d) {
  const V above = y <= low ? V{} : d;
  return y >= high ? V{} : above;
}

template <class T>
void leaky_relu(i64 count, T alpha, const T* x, T* y) {
  map<T>(count, x, y, [alpha](auto v) { return v < T(0) ? v * alpha : v; });
}

template <class T>
void leaky_relu_grad(i64 count, T alpha, const T* x, const T* dy, T* dx) {
  map<T>(count, x, dy, dx, [alpha](auto v, auto d) { return v <= T(0) ? d * alpha : d; });
}

template <class T>
void elu(i64 count, T alpha, const T* x, T* y) {
  map<T>(count, x, y, [alpha](auto v) {
    const auto bent = expm1_of(v) * alpha;
    return v > T(0) ? v : bent;
  });
}

template <class T>
void elu_grad(i64 count, T alpha, const T* y, const T* dy, T* dx) {
  map<T>(count, y, dy, dx, [alpha](auto v, auto d) {
    const auto bent = d * (v + alpha);
    return v > T(0) ? d : bent;
  });
}

template <class T>
void clip(i64 count, T low, T high, const T* x, T* y) {
  map<T>(count, x, y, [low, high](auto v) { return clipped(v, low, high); });
}

template <class T>
void clip_grad(i64 count, T low, T high, const T* y, const T* dy, T* dx) {
  map<T>(count, y, dy, dx, [low, high](auto v, auto d) { return inside(v, low, high, d); });
}

template <class T>
void hard_sigmoid(i64 count, T alpha, T beta, const T* x, T* y) {
  map<T>(count, x, y, [=](auto v) { return clipped(madd(v, alpha, beta), T(0), T(1)); });
}

template <class T>
void hard_sigmoid_grad(i64 count, T alpha, const T* y, const T* dy, T* dx) {
  map<T>(count, y, dy, dx, [alpha](auto v, auto d) { return inside(v, T(0), T(1), d * alpha); });
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
