#pragma once
// Group normalisation of [n][hw][c]. Sums run over positions first, with channels in the vector. Then they run over the
// channels of a group in ascending order. So they do not depend on the vector width.

#include "lanista/exec/kernels/family/norm.inc.h"
#include "lanista/exec/kernels/family/vector_ops.inc.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

/// Adds the first `n` lanes to `sum` in ascending order.
template <class T, class V>
inline T add_lanes(T sum, V v, i64 n) {
  for (i64 i = 0; i < n; ++i) sum += v[i];
  return sum;
}

template <class T>
void group_norm(i64 n, i64 hw, i64 c, i64 groups, double eps, const T* x, const T* gamma, const T* beta, T* y, T* mean,
                T* inv_std) {
  const i64 width = c / groups;
  const T count = static_cast<T>(hw * width);
  for (i64 sample = 0; sample < n; ++sample) {
    for (i64 g = 0; g < groups; ++g) {
      const i64 begin = g * width;
      const T* xg = x + sample * hw * c + begin;
      T* yg = y + sample * hw * c + begin;
      const T first = xg[0];
      T distances = 0, squares = 0;
      sweep<T>(width, [&](auto lanes, i64 i) {
        const auto column =
            row_sum(lanes, hw, [&](i64 r, auto acc) { return acc + (lanes.load(xg + r * c + i) - first); });
        distances = add_lanes(distances, column, lanes.n);
      });
      const T m = first + distances / count;
      sweep<T>(width, [&](auto lanes, i64 i) {
        const auto column = row_sum(lanes, hw, [&](i64 r, auto acc) {
          const auto d = lanes.load(xg + r * c + i) - m;
          return madd(d, d, acc);
        });
        squares = add_lanes(squares, column, lanes.n);
      });
      const T inverse = scalar_inverse_root(squares / count + static_cast<T>(eps));
      mean[sample * groups + g] = m;
      inv_std[sample * groups + g] = inverse;
      sweep<T>(width, [&](auto lanes, i64 i) {
        const auto slope = load_or_one(lanes, gamma, begin + i) * inverse;
        const auto shift = load_or_zero(lanes, beta, begin + i);
        for (i64 r = 0; r < hw; ++r) {
          lanes.store(yg + r * c + i, madd(lanes.load(xg + r * c + i) - m, slope, shift));
        }
      });
    }
  }
}

template <class T>
void group_norm_grad(i64 n, i64 hw, i64 c, i64 groups, const T* x, const T* gamma, const T* mean, const T* inv_std,
                     const T* dy, T* dx, T* dgamma, T* dbeta) {
  const i64 width = c / groups;
  const T count = static_cast<T>(hw * width);
  fill<T>(c, T(0), dgamma);
  fill<T>(c, T(0), dbeta);
  for (i64 sample = 0; sample < n; ++sample) {
    for (i64 g = 0; g < groups; ++g) {
      const i64 begin = g * width, image = sample * hw * c + begin;
      const T m = mean[sample * groups + g], inverse = inv_std[sample * groups + g];
      T sum = 0, dot = 0;
      sweep<T>(width, [&](auto lanes, i64 i) {
        const auto factor = load_or_one(lanes, gamma, begin + i);
        const auto s = row_sum(lanes, hw, [&](i64 r, auto acc) { return acc + lanes.load(dy + image + r * c + i); });
        const auto d = row_sum(lanes, hw, [&](i64 r, auto acc) {
          const i64 at = image + r * c + i;
          return madd((lanes.load(x + at) - m) * inverse, lanes.load(dy + at), acc);
        });
        lanes.store(dbeta + begin + i, lanes.load(dbeta + begin + i) + s);
        lanes.store(dgamma + begin + i, lanes.load(dgamma + begin + i) + d);
        sum = add_lanes(sum, s * factor, lanes.n);
        dot = add_lanes(dot, d * factor, lanes.n);
      });
      const T mean_dy = sum / count, mean_dot = dot / count;
      sweep<T>(width, [&](auto lanes, i64 i) {
        const auto factor = load_or_one(lanes, gamma, begin + i);
        for (i64 r = 0; r < hw; ++r) {
          const i64 at = image + r * c + i;
          const auto hat = (lanes.load(x + at) - m) * inverse;
          const auto centred = madd(lanes.load(dy + at), factor, -mean_dy);
          lanes.store(dx + at, inverse * madd(-hat, mean_dot, centred));
        }
      });
    }
  }
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
