#pragma once
// Optimiser updates: one pass over flat arrays.

#include "lanista/kernels/family/vector_ops.inc.h"
#include "lanista/kernels/kernels.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

template <class T, bool kMomentum, bool kNesterov>
inline void sgd_form(i64 count, const SgdHyper& hyper, const T* grad, T* param, T* momentum) {
  using S = Simd<T>;
  const Vec<T> rate = S::set(static_cast<T>(-hyper.lr)), decay = S::set(static_cast<T>(hyper.weight_decay));
  const Vec<T> mu = S::set(static_cast<T>(hyper.momentum)), factor = S::set(static_cast<T>(hyper.grad_scale));
  const bool decays = hyper.weight_decay != 0, first = hyper.first_step;
  sweep<T>(count, [&](auto lanes, i64 i) {
    const Vec<T> p = lanes.load(param + i);
    Vec<T> g = lanes.load(grad + i) * factor;
    if (decays) g = S::madd(decay, p, g);
    if constexpr (kMomentum) {
      const Vec<T> buffer = first ? g : S::madd(mu, lanes.load(momentum + i), g);
      lanes.store(momentum + i, buffer);
      g = kNesterov ? S::madd(mu, buffer, g) : buffer;
    }
    lanes.store(param + i, S::madd(rate, g, p));
  });
}

template <class T>
void sgd(i64 count, const SgdHyper& hyper, const T* grad, T* param, T* momentum) {
  if (hyper.momentum == 0 || momentum == nullptr) {
    sgd_form<T, false, false>(count, hyper, grad, param, momentum);
  } else if (hyper.nesterov) {
    sgd_form<T, true, true>(count, hyper, grad, param, momentum);
  } else {
    sgd_form<T, true, false>(count, hyper, grad, param, momentum);
  }
}

inline double whole_power(double base, i64 exponent) {
  double result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result *= base;
    base *= base;
  }
  return result;
}

inline double scalar_sqrt(double x) { return Simd<double>::sqrt(Simd<double>::set(x))[0]; }

template <class T>
void adam(i64 count, const AdamHyper& hyper, const T* grad, T* param, T* m, T* v) {
  using S = Simd<T>;
  const double correction1 = 1.0 - whole_power(hyper.beta1, hyper.step);
  const double correction2 = scalar_sqrt(1.0 - whole_power(hyper.beta2, hyper.step));
  const Vec<T> rate = S::set(static_cast<T>(-hyper.lr / correction1)),
               factor = S::set(static_cast<T>(hyper.grad_scale));
  const Vec<T> beta1 = S::set(static_cast<T>(hyper.beta1)), take1 = S::set(static_cast<T>(1.0 - hyper.beta1));
  const Vec<T> beta2 = S::set(static_cast<T>(hyper.beta2)), take2 = S::set(static_cast<T>(1.0 - hyper.beta2));
  const Vec<T> decay = S::set(static_cast<T>(hyper.weight_decay));
  const Vec<T> shrink = S::set(static_cast<T>(1.0 - hyper.lr * hyper.weight_decay));
  const T root = static_cast<T>(correction2), eps = static_cast<T>(hyper.eps);
  const bool decays = hyper.weight_decay != 0, decoupled = hyper.decoupled;
  sweep<T>(count, [&](auto lanes, i64 i) {
    Vec<T> p = lanes.load(param + i);
    Vec<T> g = lanes.load(grad + i) * factor;
    if (decays) {
      if (decoupled) {
        p = p * shrink;
      } else {
        g = S::madd(decay, p, g);
      }
    }
    const Vec<T> first = S::madd(beta1, lanes.load(m + i), take1 * g);
    const Vec<T> second = S::madd(beta2, lanes.load(v + i), (take2 * g) * g);
    lanes.store(m + i, first);
    lanes.store(v + i, second);
    lanes.store(param + i, S::madd(rate, first / (S::sqrt(second) / root + eps), p));
  });
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
