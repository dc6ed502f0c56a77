#pragma once
// Batch and layer normalisation. Statistics take two passes (mean, then squared deviations).

#include "lanista/kernels/family/vector_ops.inc.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

template <class T, class L>
inline Vec<T> load_or_one(const L& lanes, const T* p, i64 i) {
  return p != nullptr ? lanes.load(p + i) : Simd<T>::set(T(1));
}

template <class T, class L>
inline Vec<T> load_or_zero(const L& lanes, const T* p, i64 i) {
  return p != nullptr ? lanes.load(p + i) : Vec<T>{};
}

template <class T>
inline Vec<T> inverse_root(Vec<T> x) {
  return T(1) / Simd<T>::sqrt(x);
}

/// y = (x - mean) (inv_std gamma) + beta, row by row.
template <class T>
inline void normalise_columns(i64 rows, i64 c, const T* x, const T* gamma, const T* beta, const T* mean,
                              const T* inv_std, T* y) {
  for (i64 r = 0; r < rows; ++r, x += c, y += c) {
    sweep<T>(c, [&](auto lanes, i64 i) {
      const Vec<T> slope = lanes.load(inv_std + i) * load_or_one<T>(lanes, gamma, i);
      lanes.store(y + i,
                  Simd<T>::madd(lanes.load(x + i) - lanes.load(mean + i), slope, load_or_zero<T>(lanes, beta, i)));
    });
  }
}

template <class T>
void batch_norm_train(i64 rows, i64 c, double eps, double momentum, const T* x, const T* gamma, const T* beta,
                      const T* running_mean, const T* running_var, T* y, T* mean, T* inv_std, T* new_running_mean,
                      T* new_running_var) {
  const T count = static_cast<T>(rows);
  const T unbiased = static_cast<T>(rows > 1 ? rows - 1 : 1);
  const Vec<T> keep = Simd<T>::set(static_cast<T>(1.0 - momentum)), take = Simd<T>::set(static_cast<T>(momentum));
  sweep<T>(c, [&](auto lanes, i64 i) {
    const T* column = x + i;
    const Vec<T> m = row_sum<T>(rows, [&](i64 r, Vec<T> acc) { return acc + lanes.load(column + r * c); }) / count;
    const Vec<T> squares = row_sum<T>(rows, [&](i64 r, Vec<T> acc) {
      const Vec<T> d = lanes.load(column + r * c) - m;
      return Simd<T>::madd(d, d, acc);
    });
    lanes.store(mean + i, m);
    lanes.store(inv_std + i, inverse_root<T>(squares / count + static_cast<T>(eps)));
    if (new_running_mean != nullptr) {
      lanes.store(new_running_mean + i, Simd<T>::madd(lanes.load(running_mean + i), keep, m * take));
    }
    if (new_running_var != nullptr) {
      lanes.store(new_running_var + i, Simd<T>::madd(lanes.load(running_var + i), keep, (squares / unbiased) * take));
    }
  });
  normalise_columns<T>(rows, c, x, gamma, beta, mean, inv_std, y);
}

template <class T>
void batch_norm_eval(i64 rows, i64 c, double eps, const T* x, const T* gamma, const T* beta, const T* running_mean,
                     const T* running_var, T* y) {
  sweep<T>(c, [&](auto lanes, i64 i) {
    const Vec<T> slope =
        inverse_root<T>(lanes.load(running_var + i) + static_cast<T>(eps)) * load_or_one<T>(lanes, gamma, i);
    const Vec<T> mean = lanes.load(running_mean + i), shift = load_or_zero<T>(lanes, beta, i);
    for (i64 r = 0; r < rows; ++r) {
      lanes.store(y + r * c + i, Simd<T>::madd(lanes.load(x + r * c + i) - mean, slope, shift));
    }
  });
}

template <class T>
void batch_norm_grad(i64 rows, i64 c, const T* x, const T* gamma, const T* mean, const T* inv_std, const T* dy, T* dx,
                     T* dgamma, T* dbeta) {
  const T count = static_cast<T>(rows);
  sweep<T>(c, [&](auto lanes, i64 i) {
    const Vec<T> m = lanes.load(mean + i), inverse = lanes.load(inv_std + i);
    const Vec<T> sum = row_sum<T>(rows, [&](i64 r, Vec<T> acc) { return acc + lanes.load(dy + r * c + i); });
    const Vec<T> dot = row_sum<T>(rows, [&](i64 r, Vec<T> acc) {
      return Simd<T>::madd((lanes.load(x + r * c + i) - m) * inverse, lanes.load(dy + r * c + i), acc);
    });
    lanes.store(dbeta + i, sum);
    lanes.store(dgamma + i, dot);
    const Vec<T> slope = inverse * load_or_one<T>(lanes, gamma, i);
    const Vec<T> mean_dy = sum / count, mean_dot = (dot / count) * inverse;
    for (i64 r = 0; r < rows; ++r) {
      const i64 at = r * c + i;
      const Vec<T> centred = lanes.load(dy + at) - mean_dy;
      lanes.store(dx + at, slope * Simd<T>::madd(-(lanes.load(x + at) - m), mean_dot, centred));
    }
  });
}

template <class T>
void layer_norm(i64 rows, i64 len, double eps, const T* x, const T* gamma, const T* beta, T* y, T* mean, T* inv_std) {
  const T count = static_cast<T>(len);
  for (i64 r = 0; r < rows; ++r, x += len, y += len) {
    const T m = tree_sum<T>(len, [&](auto lanes, i64 i, Vec<T> acc) { return acc + lanes.load(x + i); }) / count;
    const T squares = tree_sum<T>(len, [&](auto lanes, i64 i, Vec<T> acc) {
      const Vec<T> d = lanes.keep(lanes.load(x + i) - m);
      return Simd<T>::madd(d, d, acc);
    });
    const T inverse = inverse_root<T>(Simd<T>::set(squares / count + static_cast<T>(eps)))[0];
    mean[r] = m;
    inv_std[r] = inverse;
    sweep<T>(len, [&](auto lanes, i64 i) {
      lanes.store(y + i, Simd<T>::madd((lanes.load(x + i) - m) * inverse, load_or_one<T>(lanes, gamma, i),
                                       load_or_zero<T>(lanes, beta, i)));
    });
  }
}

template <class T>
void layer_norm_grad(i64 rows, i64 len, const T* x, const T* gamma, const T* mean, const T* inv_std, const T* dy, T* dx,
                     T* dgamma, T* dbeta) {
  const T count = static_cast<T>(len);
  fill<T>(len, T(0), dgamma);
  fill<T>(len, T(0), dbeta);
  for (i64 r = 0; r < rows; ++r, x += len, dy += len, dx += len) {
    const T m = mean[r], inverse = inv_std[r];
    const T sum = tree_sum<T>(len, [&](auto lanes, i64 i, Vec<T> acc) {
      return Simd<T>::madd(lanes.load(dy + i), load_or_one<T>(lanes, gamma, i), acc);
    });
    const T dot = tree_sum<T>(len, [&](auto lanes, i64 i, Vec<T> acc) {
      const Vec<T> hat = (lanes.load(x + i) - m) * inverse;
      return Simd<T>::madd(lanes.load(dy + i) * load_or_one<T>(lanes, gamma, i), lanes.keep(hat), acc);
    });
    const T mean_dy = sum / count, mean_dot = dot / count;
    sweep<T>(len, [&](auto lanes, i64 i) {
      const Vec<T> d = lanes.load(dy + i);
      const Vec<T> hat = (lanes.load(x + i) - m) * inverse;
      lanes.store(dgamma + i, Simd<T>::madd(d, hat, lanes.load(dgamma + i)));
      lanes.store(dbeta + i, lanes.load(dbeta + i) + d);
      const Vec<T> centred = Simd<T>::madd(d, load_or_one<T>(lanes, gamma, i), Simd<T>::set(-mean_dy));
      lanes.store(dx + i, inverse * Simd<T>::madd(-hat, Simd<T>::set(mean_dot), centred));
    });
  }
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
