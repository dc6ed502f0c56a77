#pragma once
// Activations of straight pieces, and the exponential linear unit.

#include "lanista/kernels/family/activation.inc.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

/// Not a number stays.
template <class T>
inline Vec<T> clipped(Vec<T> x, T low, T high) {
  const Vec<T> raised = x < low ? Simd<T>::set(low) : x;
  return raised > high ? Simd<T>::set(high) : raised;
}

/// d where y lies inside, zero at the ends and beyond.
template <class T>
inline Vec<T> inside(Vec<T> y, T low, T high, Vec<T> d) {
  const Vec<T> above = y <= low ? Vec<T>{} : d;
  return y >= high ? Vec<T>{} : above;
}

template <class T>
void leaky_relu(i64 count, T alpha, const T* x, T* y) {
  map<T>(count, x, y, [alpha](Vec<T> v) { return v < T(0) ? v * alpha : v; });
}

template <class T>
void leaky_relu_grad(i64 count, T alpha, const T* x, const T* dy, T* dx) {
  map<T>(count, x, dy, dx, [alpha](Vec<T> v, Vec<T> d) { return v <= T(0) ? d * alpha : d; });
}

template <class T>
void elu(i64 count, T alpha, const T* x, T* y) {
  map<T>(count, x, y, [alpha](Vec<T> v) {
    const Vec<T> bent = (exp_of<T>(v) - T(1)) * alpha;
    return v > T(0) ? v : bent;
  });
}

template <class T>
void elu_grad(i64 count, T alpha, const T* y, const T* dy, T* dx) {
  map<T>(count, y, dy, dx, [alpha](Vec<T> v, Vec<T> d) {
    const Vec<T> bent = d * (v + alpha);
    return v > T(0) ? d : bent;
  });
}

template <class T>
void clip(i64 count, T low, T high, const T* x, T* y) {
  map<T>(count, x, y, [low, high](Vec<T> v) { return clipped<T>(v, low, high); });
}

template <class T>
void clip_grad(i64 count, T low, T high, const T* y, const T* dy, T* dx) {
  map<T>(count, y, dy, dx, [low, high](Vec<T> v, Vec<T> d) { return inside<T>(v, low, high, d); });
}

template <class T>
void hard_sigmoid(i64 count, T alpha, T beta, const T* x, T* y) {
  const Vec<T> slope = Simd<T>::set(alpha), start = Simd<T>::set(beta);
  map<T>(count, x, y, [=](Vec<T> v) { return clipped<T>(Simd<T>::madd(v, slope, start), T(0), T(1)); });
}

template <class T>
void hard_sigmoid_grad(i64 count, T alpha, const T* y, const T* dy, T* dx) {
  map<T>(count, y, dy, dx, [alpha](Vec<T> v, Vec<T> d) { return inside<T>(v, T(0), T(1), d * alpha); });
}

template <class T>
void hard_swish(i64 count, const T* x, T* y) {
  const Vec<T> slope = Simd<T>::set(T(1) / T(6)), half = Simd<T>::set(T(0.5));
  map<T>(count, x, y, [=](Vec<T> v) { return v * clipped<T>(Simd<T>::madd(v, slope, half), T(0), T(1)); });
}

template <class T>
void hard_swish_grad(i64 count, const T* x, const T* dy, T* dx) {
  const Vec<T> slope = Simd<T>::set(T(1) / T(3)), half = Simd<T>::set(T(0.5));
  map<T>(count, x, dy, dx, [=](Vec<T> v, Vec<T> d) {
    const Vec<T> bent = d * Simd<T>::madd(v, slope, half);
    const Vec<T> open = v >= T(3) ? d : bent;
    return v <= T(-3) ? Vec<T>{} : open;
  });
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
