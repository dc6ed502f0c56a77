#pragma once
// Batch and layer normalisation. Statistics need two passes: mean, then squared deviations. Means are means of the
// distances to the first value. With a plain sum of nearly equal values, the rounding error would dominate x - mean and
// the gradients. Source: Chan, Golub, LeVeque, Algorithms for computing the sample variance (1983).

#include "lanista/exec/kernels/family/vector_ops.inc.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

/// Vector `j` of an optional row, from column i on; the default if the row is null.
template <class B>
inline auto load_or(const B& block, const typename B::T* p, i64 i, int j, typename B::T otherwise) {
  return p != nullptr ? block.load(p + i, j) : spread<typename B::V>(otherwise);
}

template <class L>
inline auto load_or_one(const L& lanes, const typename L::T* p, i64 i) {
  return p != nullptr ? lanes.load(p + i) : lanes.set(1);
}

template <class L>
inline auto load_or_zero(const L& lanes, const typename L::T* p, i64 i) {
  return p != nullptr ? lanes.load(p + i) : lanes.set(0);
}

template <class V>
inline V inverse_root(V x) {
  return typename SimdOf<V>::Element(1) / sqrt_of(x);
}

template <class T>
inline T scalar_inverse_root(T x) {
  return inverse_root(Simd<T>::set(x))[0];
}

/// Vectors of columns that a pass of batch norm sums at once: four accumulators each must stay in registers.
constexpr int kNormVectors = kMaxTileRows >= 8 ? 4 : 2;

template <class T>
void batch_norm_train(i64 rows, i64 c, double eps, double momentum, const T* x, const T* gamma, const T* beta,
                      const T* running_mean, const T* running_var, T* y, T* mean, T* inv_std, T* new_running_mean,
                      T* new_running_var) {
  const T count = static_cast<T>(rows);
  const T unbiased = static_cast<T>(rows - 1);
  const T keep = static_cast<T>(1.0 - momentum), take = static_cast<T>(momentum);
  column_blocks<T, kNormVectors>(c, [&](auto block, i64 i) {
    using B = decltype(block);
    typename B::V first[B::n], m[B::n], squares[B::n], slope[B::n], shift[B::n];
    const T* columns = x + i;
    for (int j = 0; j < B::n; ++j) first[j] = block.load(columns, j);
    row_sums(block, rows, m, [&](i64 r, int j, auto acc) { return acc + (block.load(columns + r * c, j) - first[j]); });
    for (int j = 0; j < B::n; ++j) m[j] = first[j] + m[j] / count;
    row_sums(block, rows, squares, [&](i64 r, int j, auto acc) {
      const auto d = block.load(columns + r * c, j) - m[j];
      return madd(d, d, acc);
    });
    for (int j = 0; j < B::n; ++j) {
      const auto inverse = inverse_root(squares[j] / count + static_cast<T>(eps));
      block.store(mean + i, j, m[j]);
      block.store(inv_std + i, j, inverse);
      if (new_running_mean != nullptr) {
        block.store(new_running_mean + i, j, madd(block.load(running_mean + i, j), keep, m[j] * take));
      }
      if (new_running_var != nullptr) {
        const auto old = block.load(running_var + i, j);
        // One value has no variance, so the running variance keeps its value.
        block.store(new_running_var + i, j, rows > 1 ? madd(old, keep, (squares[j] / unbiased) * take) : old);
      }
      slope[j] = inverse * load_or(block, gamma, i, j, 1);
      shift[j] = load_or(block, beta, i, j, 0);
    }
    for (i64 r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int j = 0; j < B::n; ++j) {
        block.store(y + r * c + i, j, madd(block.load(columns + r * c, j) - m[j], slope[j], shift[j]));
      }
    }
  });
}

template <class T>
void batch_norm_eval(i64 rows, i64 c, double eps, const T* x, const T* gamma, const T* beta, const T* running_mean,
                     const T* running_var, T* y) {
  column_blocks<T, kNormVectors>(c, [&](auto block, i64 i) {
    using B = decltype(block);
    typename B::V m[B::n], slope[B::n], shift[B::n];
    for (int j = 0; j < B::n; ++j) {
      m[j] = block.load(running_mean + i, j);
      slope[j] = inverse_root(block.load(running_var + i, j) + static_cast<T>(eps)) * load_or(block, gamma, i, j, 1);
      shift[j] = load_or(block, beta, i, j, 0);
    }
    for (i64 r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int j = 0; j < B::n; ++j) {
        block.store(y + r * c + i, j, madd(block.load(x + r * c + i, j) - m[j], slope[j], shift[j]));
      }
    }
  });
}

/// Loads mean and inverse deviation of a block of columns. Sums dy, and dy times the normalised x, over all rows.
/// Pointers point to the first column of the block.
template <class B, class T, class V>
inline void norm_gradient_sums(const B& block, i64 rows, i64 c, const T* x, const T* mean, const T* inv_std,
                               const T* dy, V (&m)[B::n], V (&inverse)[B::n], V (&sum)[B::n], V (&dot)[B::n]) {
  for (int j = 0; j < B::n; ++j) {
    m[j] = block.load(mean, j);
    inverse[j] = block.load(inv_std, j);
  }
  row_sums(block, rows, sum, [&](i64 r, int j, auto acc) { return acc + block.load(dy + r * c, j); });
  row_sums(block, rows, dot, [&](i64 r, int j, auto acc) {
    return madd((block.load(x + r * c, j) - m[j]) * inverse[j], block.load(dy + r * c, j), acc);
  });
}

template <class T>
void batch_norm_grad(i64 rows, i64 c, const T* x, const T* gamma, const T* mean, const T* inv_std, const T* dy, T* dx,
                     T* dgamma, T* dbeta) {
  const T count = static_cast<T>(rows);
  column_blocks<T, kNormVectors>(c, [&](auto block, i64 i) {
    using B = decltype(block);
    typename B::V m[B::n], inverse[B::n], sum[B::n], dot[B::n], slope[B::n];
    const T* columns = x + i;
    const T* gradients = dy + i;
    norm_gradient_sums(block, rows, c, columns, mean + i, inv_std + i, gradients, m, inverse, sum, dot);
    for (int j = 0; j < B::n; ++j) {
      block.store(dbeta + i, j, sum[j]);
      block.store(dgamma + i, j, dot[j]);
      slope[j] = inverse[j] * load_or(block, gamma, i, j, 1);
      sum[j] = sum[j] / count;  // from here on: means
      dot[j] = (dot[j] / count) * inverse[j];
    }
    for (i64 r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int j = 0; j < B::n; ++j) {
        const auto centred = block.load(gradients + r * c, j) - sum[j];
        block.store(dx + r * c + i, j, slope[j] * madd(-(block.load(columns + r * c, j) - m[j]), dot[j], centred));
      }
    }
  });
}

// The halves of batch norm, for rows that are parts of a batch.
template <class T>
void batch_norm_moments(i64 rows, i64 c, const T* x, T* mean, T* squares) {
  const T count = static_cast<T>(rows);
  column_blocks<T, kNormVectors>(c, [&](auto block, i64 i) {
    using B = decltype(block);
    typename B::V first[B::n], m[B::n], sum[B::n];
    const T* columns = x + i;
    for (int j = 0; j < B::n; ++j) first[j] = block.load(columns, j);
    row_sums(block, rows, m, [&](i64 r, int j, auto acc) { return acc + (block.load(columns + r * c, j) - first[j]); });
    for (int j = 0; j < B::n; ++j) m[j] = first[j] + m[j] / count;
    row_sums(block, rows, sum, [&](i64 r, int j, auto acc) {
      const auto d = block.load(columns + r * c, j) - m[j];
      return madd(d, d, acc);
    });
    for (int j = 0; j < B::n; ++j) {
      block.store(mean + i, j, m[j]);
      block.store(squares + i, j, sum[j]);
    }
  });
}

template <class T>
void batch_norm_apply(i64 rows, i64 c, const T* x, const T* gamma, const T* beta, const T* mean, const T* inv_std,
                      T* y) {
  column_blocks<T, kNormVectors>(c, [&](auto block, i64 i) {
    using B = decltype(block);
    typename B::V m[B::n], slope[B::n], shift[B::n];
    for (int j = 0; j < B::n; ++j) {
      m[j] = block.load(mean + i, j);
      slope[j] = block.load(inv_std + i, j) * load_or(block, gamma, i, j, 1);
      shift[j] = load_or(block, beta, i, j, 0);
    }
    for (i64 r = 0; r < rows; ++r) {
      for (int j = 0; j < B::n; ++j) {
        block.store(y + r * c + i, j, madd(block.load(x + r * c + i, j) - m[j], slope[j], shift[j]));
      }
    }
  });
}

template <class T>
void batch_norm_grad_sums(i64 rows, i64 c, const T* x, const T* mean, const T* inv_std, const T* dy, T* dgamma,
                          T* dbeta) {
  column_blocks<T, kNormVectors>(c, [&](auto block, i64 i) {
    using B = decltype(block);
    typename B::V m[B::n], inverse[B::n], sum[B::n], dot[B::n];
    norm_gradient_sums(block, rows, c, x + i, mean + i, inv_std + i, dy + i, m, inverse, sum, dot);
    for (int j = 0; j < B::n; ++j) {
      block.store(dbeta + i, j, sum[j]);
      block.store(dgamma + i, j, dot[j]);
    }
  });
}

template <class T>
void batch_norm_grad_apply(i64 rows, i64 c, const T* x, const T* gamma, const T* mean, const T* inv_std,
                           const T* mean_dgamma, const T* mean_dbeta, const T* dy, T* dx) {
  column_blocks<T, kNormVectors>(c, [&](auto block, i64 i) {
    using B = decltype(block);
    typename B::V m[B::n], sum[B::n], dot[B::n], slope[B::n];
    for (int j = 0; j < B::n; ++j) {
      const auto inverse = block.load(inv_std + i, j);
      m[j] = block.load(mean + i, j);
      slope[j] = inverse * load_or(block, gamma, i, j, 1);
      sum[j] = block.load(mean_dbeta + i, j);
      dot[j] = block.load(mean_dgamma + i, j) * inverse;
    }
    for (i64 r = 0; r < rows; ++r) {
      for (int j = 0; j < B::n; ++j) {
        const auto centred = block.load(dy + r * c + i, j) - sum[j];
        block.store(dx + r * c + i, j, slope[j] * madd(-(block.load(x + r * c + i, j) - m[j]), dot[j], centred));
      }
    }
  });
}

template <class T>
void layer_norm(i64 rows, i64 len, double eps, const T* x, const T* gamma, const T* beta, T* y, T* mean, T* inv_std) {
  const T count = static_cast<T>(len);
  for (i64 r = 0; r < rows; ++r, x += len, y += len) {
    const T first = x[0];
    const T distances =
        tree_sum<T>(len, [&](auto lanes, i64 i, auto acc) { return acc + lanes.keep(lanes.load(x + i) - first); });
    const T m = first + distances / count;
    const T squares = tree_sum<T>(len, [&](auto lanes, i64 i, auto acc) {
      const auto d = lanes.keep(lanes.load(x + i) - m);
      return madd(d, d, acc);
    });
    const T inverse = scalar_inverse_root(squares / count + static_cast<T>(eps));
    mean[r] = m;
    inv_std[r] = inverse;
    sweep<T>(len, [&](auto lanes, i64 i) {
      lanes.store(y + i,
                  madd((lanes.load(x + i) - m) * inverse, load_or_one(lanes, gamma, i), load_or_zero(lanes, beta, i)));
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
    const T sum = tree_sum<T>(
        len, [&](auto lanes, i64 i, auto acc) { return madd(lanes.load(dy + i), load_or_one(lanes, gamma, i), acc); });
    const T dot = tree_sum<T>(len, [&](auto lanes, i64 i, auto acc) {
      const auto hat = (lanes.load(x + i) - m) * inverse;
      return madd(lanes.load(dy + i) * load_or_one(lanes, gamma, i), lanes.keep(hat), acc);
    });
    const T mean_dy = sum / count, mean_dot = dot / count;
    sweep<T>(len, [&](auto lanes, i64 i) {
      const auto d = lanes.load(dy + i);
      const auto hat = (lanes.load(x + i) - m) * inverse;
      lanes.store(dgamma + i, madd(d, hat, lanes.load(dgamma + i)));
      lanes.store(dbeta + i, lanes.load(dbeta + i) + d);
      const auto centred = madd(d, load_or_one(lanes, gamma, i), -mean_dy);
      lanes.store(dx + i, inverse * madd(-hat, mean_dot, centred));
    });
  }
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
