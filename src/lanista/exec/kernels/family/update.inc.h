#pragma once
// Optimiser updates: one pass over flat arrays.

#include "lanista/exec/kernels/family/vector_ops.inc.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

template <class T, bool kMomentum, bool kNesterov>
inline void sgd_form(i64 count, const UpdateHyper& hyper, const T* grad, T* param, T* momentum) {
  const T rate = static_cast<T>(-hyper.lr), decay = static_cast<T>(hyper.weight_decay);
  const T mu = static_cast<T>(hyper.momentum), factor = static_cast<T>(hyper.grad_scale);
  const bool decays = hyper.weight_decay != 0, first = hyper.step == 1;
  sweep<T>(count, [&](auto lanes, i64 i) {
    const auto p = lanes.load(param + i);
    auto g = lanes.load(grad + i) * factor;
    if (decays) g = madd(decay, p, g);
    if constexpr (kMomentum) {
      // The first momentum is the gradient, as in PyTorch.
      const auto buffer = first ? g : madd(mu, lanes.load(momentum + i), g);
      lanes.store(momentum + i, buffer);
      g = kNesterov ? madd(mu, buffer, g) : buffer;
    }
    lanes.store(param + i, madd(rate, g, p));
  });
}

/// Stochastic gradient descent. Without momentum the slot is not used and may be missing.
template <class T>
void sgd(i64 count, const UpdateHyper& hyper, const T* grad, T* param, T* const* slots) {
  if (hyper.momentum == 0) {
    sgd_form<T, false, false>(count, hyper, grad, param, nullptr);
  } else if (hyper.nesterov) {
    sgd_form<T, true, true>(count, hyper, grad, param, slots[0]);
  } else {
    sgd_form<T, true, false>(count, hyper, grad, param, slots[0]);
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

/// Adam. Weight decay is added to the gradient or, if decoupled, applied to the parameter (Loshchilov and Hutter 2019).
template <class T, bool kDecoupled>
void adam(i64 count, const UpdateHyper& hyper, const T* grad, T* param, T* const* slots) {
  T* m = slots[0];
  T* v = slots[1];
  const double correction1 = 1.0 - whole_power(hyper.beta1, hyper.step);
  const double correction2 = scalar_sqrt(1.0 - whole_power(hyper.beta2, hyper.step));
  const T rate = static_cast<T>(-hyper.lr / correction1), factor = static_cast<T>(hyper.grad_scale);
  const T beta1 = static_cast<T>(hyper.beta1), one_minus_beta1 = static_cast<T>(1.0 - hyper.beta1);
  const T beta2 = static_cast<T>(hyper.beta2), one_minus_beta2 = static_cast<T>(1.0 - hyper.beta2);
  const T decay = static_cast<T>(hyper.weight_decay);
  const T shrink = static_cast<T>(1.0 - hyper.lr * hyper.weight_decay);
  const T root = static_cast<T>(correction2), eps = static_cast<T>(hyper.eps);
  const bool decays = hyper.weight_decay != 0;
  sweep<T>(count, [&](auto lanes, i64 i) {
    auto p = lanes.load(param + i);
    auto g = lanes.load(grad + i) * factor;
    if (decays) {
      if constexpr (kDecoupled) {
        p = p * shrink;
      } else {
        g = madd(decay, p, g);
      }
    }
    const auto first = madd(beta1, lanes.load(m + i), one_minus_beta1 * g);
    const auto second = madd(beta2, lanes.load(v + i), (one_minus_beta2 * g) * g);
    lanes.store(m + i, first);
    lanes.store(v + i, second);
    lanes.store(param + i, madd(rate, first / (sqrt_of(second) / root + eps), p));
  });
}

/// Lion. A NaN direction has no sign and is used unchanged. Source: Chen et al., Symbolic Discovery of Optimization
/// Algorithms (2023), algorithm 2.
template <class T>
void lion(i64 count, const UpdateHyper& hyper, const T* grad, T* param, T* const* slots) {
  T* m = slots[0];
  const T rate = static_cast<T>(-hyper.lr), factor = static_cast<T>(hyper.grad_scale);
  const T beta1 = static_cast<T>(hyper.beta1), one_minus_beta1 = static_cast<T>(1.0 - hyper.beta1);
  const T beta2 = static_cast<T>(hyper.beta2), one_minus_beta2 = static_cast<T>(1.0 - hyper.beta2);
  const T shrink = static_cast<T>(1.0 - hyper.lr * hyper.weight_decay);
  sweep<T>(count, [&](auto lanes, i64 i) {
    const auto g = lanes.load(grad + i) * factor;
    const auto before = lanes.load(m + i);
    const auto toward = madd(beta1, before, one_minus_beta1 * g);
    const auto down = toward < T(0) ? lanes.set(T(-1)) : toward;
    const auto sign = toward > T(0) ? lanes.set(T(1)) : down;
    lanes.store(param + i, madd(rate, sign, lanes.load(param + i) * shrink));
    lanes.store(m + i, madd(beta2, before, one_minus_beta2 * g));
  });
}

/// RMSprop as in PyTorch: eps is outside the root, and momentum accumulates the scaled gradient. Without momentum its
/// slot is not used. Source: Tieleman and Hinton, lecture 6.5 (2012).
template <class T>
void rmsprop(i64 count, const UpdateHyper& hyper, const T* grad, T* param, T* const* slots) {
  T* v = slots[0];
  T* momentum = slots[1];
  const T rate = static_cast<T>(-hyper.lr), factor = static_cast<T>(hyper.grad_scale);
  const T keep = static_cast<T>(hyper.beta2), take = static_cast<T>(1.0 - hyper.beta2);
  const T mu = static_cast<T>(hyper.momentum), decay = static_cast<T>(hyper.weight_decay);
  const T eps = static_cast<T>(hyper.eps);
  const bool decays = hyper.weight_decay != 0, moves = hyper.momentum != 0;
  sweep<T>(count, [&](auto lanes, i64 i) {
    const auto p = lanes.load(param + i);
    auto g = lanes.load(grad + i) * factor;
    if (decays) g = madd(decay, p, g);
    const auto square = madd(keep, lanes.load(v + i), (take * g) * g);
    lanes.store(v + i, square);
    auto step = g / (sqrt_of(square) + eps);
    if (moves) {
      step = madd(mu, lanes.load(momentum + i), step);
      lanes.store(momentum + i, step);
    }
    lanes.store(param + i, madd(rate, step, p));
  });
}

template <class T>
constexpr UpdateKernel<T> kUpdates[] = {
    {"sgd", 1, sgd<T>},   {"adam", 2, adam<T, false>}, {"adamw", 2, adam<T, true>},
    {"lion", 1, lion<T>}, {"rmsprop", 2, rmsprop<T>},
};

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
