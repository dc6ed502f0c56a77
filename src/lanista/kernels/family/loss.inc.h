#pragma once
// Losses per sample, their gradients, and the reductions that watch a training step.

#include "lanista/kernels/family/activation.inc.h"
#include "lanista/kernels/family/elementary.inc.h"
#include "lanista/kernels/family/vector_ops.inc.h"
#include "lanista/kernels/kernels.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

constexpr i64 kLossBlock = 64;

/// With z = x - max, loss = log sum exp z - (1 - smoothing) z_target - smoothing mean z. The logarithms of a block of
/// rows are taken together.
template <class T>
void cross_entropy(i64 rows, i64 classes, double smoothing, const T* logits, const std::int32_t* target, T* loss,
                   T* probability) {
  const T hard = static_cast<T>(1.0 - smoothing);
  const T soft = static_cast<T>(smoothing / static_cast<double>(classes));
  T sums[kLossBlock];
  T rest[kLossBlock];
  for (i64 begin = 0; begin < rows; begin += kLossBlock) {
    const i64 count = smaller(rows - begin, kLossBlock);
    for (i64 r = 0; r < count; ++r) {
      const T* x = logits + (begin + r) * classes;
      T* p = probability + (begin + r) * classes;
      const T most = row_max<T>(classes, x);
      const T sum = exp_row<T>(classes, most, x, p);
      divide_row<T>(classes, sum, p);
      sums[r] = sum;
      rest[r] = hard * (x[target[begin + r]] - most);
      if (smoothing != 0) {
        const T all = tree_sum<T>(
            classes, [&](auto lanes, i64 i, auto acc) { return acc + lanes.keep(lanes.load(x + i) - most); });
        rest[r] = scalar_madd(soft, all, rest[r]);
      }
    }
    map<T>(count, sums, rest, loss + begin, [](auto sum, auto other) { return log_of(sum) - other; });
  }
}

template <class T>
void cross_entropy_grad(i64 rows, i64 classes, double smoothing, const T* probability, const std::int32_t* target,
                        T* dlogits) {
  const T soft = static_cast<T>(smoothing / static_cast<double>(classes));
  const T hard = static_cast<T>(1.0 - smoothing + smoothing / static_cast<double>(classes));
  const T share = static_cast<T>(1.0 / static_cast<double>(rows));
  map<T>(rows * classes, probability, dlogits, [=](auto p) { return (p - soft) * share; });
  for (i64 r = 0; r < rows; ++r) {
    const i64 at = r * classes + target[r];
    dlogits[at] = (probability[at] - hard) * share;
  }
}

template <class T>
void mse(i64 rows, i64 len, const T* prediction, const T* target, T* loss) {
  for (i64 r = 0; r < rows; ++r, prediction += len, target += len) {
    loss[r] = tree_sum<T>(len,
                          [&](auto lanes, i64 i, auto acc) {
                            const auto d = lanes.load(prediction + i) - lanes.load(target + i);
                            return madd(d, d, acc);
                          }) /
              static_cast<T>(len);
  }
}

template <class T>
void mse_grad(i64 rows, i64 len, const T* prediction, const T* target, T* dprediction) {
  const T factor = static_cast<T>(2.0 / (static_cast<double>(rows) * static_cast<double>(len)));
  map<T>(rows * len, prediction, target, dprediction, [=](auto p, auto t) { return (p - t) * factor; });
}

template <class T>
T mean(i64 count, const T* x) {
  T sum = 0;
  for (i64 i = 0; i < count; ++i) sum += x[i];
  return sum / static_cast<T>(count);
}

constexpr i64 kSquareBlock = 1024;

/// Blocks of kSquareBlock elements, each with eight partial sums and the fixed tree; block sums in ascending order.
template <class T>
double square_norm(i64 count, const T* x) {
  double total = 0;
  for (i64 begin = 0; begin < count; begin += kSquareBlock) {
    const i64 len = smaller(count - begin, kSquareBlock);
    const T* block = x + begin;
    constexpr i64 kW = Simd<double>::kWidth;
    total += tree_sum<double>(len, [&](auto lanes, i64 i, Vec<double> acc) {
      Vec<double> v = {};
      if (lanes.n == kW) {
        for (i64 j = 0; j < kW; ++j) v[j] = static_cast<double>(block[i + j]);
      } else {
        for (i64 j = 0; j < lanes.n; ++j) v[j] = static_cast<double>(block[i + j]);
      }
      return Simd<double>::madd(v, v, acc);
    });
  }
  return total;
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
