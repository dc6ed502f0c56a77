#pragma once
// Optimiser updates: one pass over flat arrays.

#include "lanista/kernels/family/vector_ops.inc.h"
#include "lanista/kernels/kernels.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

template <class T, bool kMomentum, bool kNesterov>
inline void sgd_form(i64 count, const SgdHyper& hyper, const T* grad, T* param, T* momentum) {
  const T rate = static_cast<T>(-hyper.lr), decay = static_cast<T>(hyper.weight_decay);
  const T mu = static_cast<T>(hyper.momentum), factor = static_cast<T>(hyper.grad_scale);
  const bool decays = hyper.weight_decay != 0, first = hyper.first_step;
  sweep<T>(count, [&](auto lanes, i64 i) {
    const auto p = lanes.load(param + i);
    auto g = lanes.load(grad + i) * factor;
    if (decays) g = madd(decay, p, g);
    if constexpr (kMomentum) {
      const auto buffer = first ? g : madd(mu, lanes.load(momentum + i), g);
      lanes.store(momentum + i, buffer);
      g = kNesterov ? madd(mu, buffer, g) : buffer;
    }
    lanes.store(param + i, madd(rate, g, p));
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
  const double correction1 = 1.0 - whole_power(hyper.beta1, hyper.step);
  const double correction2 = scalar_sqrt(1.0 - whole_power(hyper.beta2, hyper.step));
  const T rate = static_cast<T>(-hyper.lr / correction1), factor = static_cast<T>(hyper.grad_scale);
  const T beta1 = static_cast<T>(hyper.beta1), take1 = static_cast<T>(1.0 - hyper.beta1);
  const T beta2 = static_cast<T>(hyper.beta2), take2 = static_cast<T>(1.0 - hyper.beta2);
  const T decay = static_cast<T>(hyper.weight_decay);
  const T shrink = static_cast<T>(1.0 - hyper.lr * hyper.weight_decay);
  const T root = static_cast<T>(correction2), eps = static_cast<T>(hyper.eps);
  const bool decays = hyper.weight_decay != 0, decoupled = hyper.decoupled;
  sweep<T>(count, [&](auto lanes, i64 i) {
    auto p = lanes.load(param + i);
    auto g = lanes.load(grad + i) * factor;
    if (decays) {
      if (decoupled) {
        p = p * shrink;
      } else {
        g = madd(decay, p, g);
      }
    }
    const auto first = madd(beta1, lanes.load(m + i), take1 * g);
    const auto second = madd(beta2, lanes.load(v + i), (take2 * g) * g);
    lanes.store(m + i, first);
    lanes.store(v + i, second);
    lanes.store(param + i, madd(rate, first / (sqrt_of(second) / root + eps), p));
  });
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
