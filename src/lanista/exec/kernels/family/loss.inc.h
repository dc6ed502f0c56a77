#pragma once
// Losses per sample, their gradients, and the reductions that monitor a training step.

#include <limits>

#include "lanista/exec/kernels/family/activation.inc.h"
#include "lanista/exec/kernels/family/elementary.inc.h"
#include "lanista/exec/kernels/family/vector_ops.inc.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

constexpr i64 kLossBlock = 64;

/// Cross-entropy. With z = x - max, loss = log sum exp z - (1 - smoothing) z_target - smoothing mean z. The logarithms
/// of a block of rows are computed together.
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
void cross_entropy_grad(i64 rows, i64 total, i64 classes, double smoothing, const T* probability,
                        const std::int32_t* target, T* dlogits) {
  const T soft = static_cast<T>(smoothing / static_cast<double>(classes));
  const T hard = static_cast<T>(1.0 - smoothing + smoothing / static_cast<double>(classes));
  const T share = static_cast<T>(1.0 / static_cast<double>(total));
  map<T>(rows * classes, probability, dlogits, [=](auto p) { return (p - soft) * share; });
  for (i64 r = 0; r < rows; ++r) {
    const i64 at = r * classes + target[r];
    dlogits[at] = (probability[at] - hard) * share;
  }
}

template <class V>
inline V square_of_rest(V p) {
  using T = typename SimdOf<V>::Element;
  const V rest = T(1) - p;
  return rest * rest;
}

/// Focal loss with gamma 2: the sum over classes of share (1 - p)^2 (- log p). Smoothing distributes the label over the
/// classes as in cross-entropy. Source: Lin et al., Focal Loss for Dense Object Detection (2017).
template <class T>
void focal(i64 rows, i64 classes, double smoothing, const T* logits, const std::int32_t* target, T* loss,
           T* probability) {
  const T hard = static_cast<T>(1.0 - smoothing);
  const T soft = static_cast<T>(smoothing / static_cast<double>(classes));
  T sums[kLossBlock];
  T logs[kLossBlock];
  for (i64 begin = 0; begin < rows; begin += kLossBlock) {
    const i64 count = smaller(rows - begin, kLossBlock);
    for (i64 r = 0; r < count; ++r) {
      const T* x = logits + (begin + r) * classes;
      T* p = probability + (begin + r) * classes;
      sums[r] = exp_row<T>(classes, row_max<T>(classes, x), x, p);
      divide_row<T>(classes, sums[r], p);
    }
    map<T>(count, sums, logs, [](auto sum) { return log_of(sum); });
    for (i64 r = 0; r < count; ++r) {
      const T* x = logits + (begin + r) * classes;
      const T* p = probability + (begin + r) * classes;
      const i64 label = target[begin + r];
      const T most = row_max<T>(classes, x), rest = T(1) - p[label];
      T sum = hard * rest * rest * (logs[r] - (x[label] - most));
      if (smoothing != 0) {
        const T all = tree_sum<T>(classes, [&](auto lanes, i64 i, auto acc) {
          return acc + lanes.keep(square_of_rest(lanes.load(p + i)) * (logs[r] - (lanes.load(x + i) - most)));
        });
        sum = scalar_madd(soft, all, sum);
      }
      loss[begin + r] = sum;
    }
  }
}

/// Gradient of `focal`: share a - p (sum of share a over classes), where a = 2 p (1 - p) log p - (1 - p)^2.
template <class T>
void focal_grad(i64 rows, i64 total, i64 classes, double smoothing, const T* probability, const std::int32_t* target,
                T* dlogits) {
  const T soft = static_cast<T>(smoothing / static_cast<double>(classes));
  const T hard = static_cast<T>(1.0 - smoothing);
  const T share = static_cast<T>(1.0 / static_cast<double>(total));
  const auto slope = [](auto p) {
    using V = decltype(p);
    const V least = spread<V>(std::numeric_limits<T>::min());  // p log p is 0 where p is
    const V bounded = p < least ? least : p;
    const V rest = T(1) - p;
    return T(2) * p * rest * log_of(bounded) - rest * rest;
  };
  for (i64 r = 0; r < rows; ++r) {
    const T* p = probability + r * classes;
    T* out = dlogits + r * classes;
    map<T>(classes, p, out, slope);
    const T own = hard * out[target[r]];
    T all = own;
    if (smoothing != 0) {
      all = scalar_madd(
          soft, tree_sum<T>(classes, [&](auto lanes, i64 i, auto acc) { return acc + lanes.load(out + i); }), own);
    }
    map<T>(classes, p, out, out, [=](auto each, auto a) { return (soft * a - each * all) * share; });
    out[target[r]] += own * share;
  }
}

/// loss[r] is the mean over the predictions of a row. `term(d, acc)` adds the loss of the error d to `acc`.
template <class T, class Term>
void mean_of_errors(i64 rows, i64 len, const T* prediction, const T* target, T* loss, Term term) {
  for (i64 r = 0; r < rows; ++r, prediction += len, target += len) {
    loss[r] =
        tree_sum<T>(len, [&](auto lanes, i64 i,
                             auto acc) { return term(lanes.load(prediction + i) - lanes.load(target + i), acc); }) /
        static_cast<T>(len);
  }
}

/// Gradient: `times` slope(d) divided by the number of predictions in the batch.
template <class T, class Slope>
void slope_of_errors(i64 rows, i64 total, i64 len, double times, const T* prediction, const T* target, T* dprediction,
                     Slope slope) {
  const T factor = static_cast<T>(times / (static_cast<double>(total) * static_cast<double>(len)));
  map<T>(rows * len, prediction, target, dprediction, [=](auto p, auto t) { return slope(p - t) * factor; });
}

template <class T>
void mse(i64 rows, i64 len, const T* prediction, const T* target, T* loss) {
  mean_of_errors(rows, len, prediction, target, loss, [](auto d, auto acc) { return madd(d, d, acc); });
}

template <class T>
void mse_grad(i64 rows, i64 total, i64 len, const T* prediction, const T* target, T* dprediction) {
  slope_of_errors(rows, total, len, 2.0, prediction, target, dprediction, [](auto d) { return d; });
}

/// Sign of a number: -1, 0 or 1. NaN is returned unchanged.
template <class V>
inline V sign_of(V x) {
  using T = typename SimdOf<V>::Element;
  const V down = x < T(0) ? spread<V>(T(-1)) : x;
  return x > T(0) ? spread<V>(T(1)) : down;
}

template <class T>
void mae(i64 rows, i64 len, const T* prediction, const T* target, T* loss) {
  mean_of_errors(rows, len, prediction, target, loss, [](auto d, auto acc) { return madd(sign_of(d), d, acc); });
}

template <class T>
void mae_grad(i64 rows, i64 total, i64 len, const T* prediction, const T* target, T* dprediction) {
  slope_of_errors(rows, total, len, 1.0, prediction, target, dprediction, [](auto d) { return sign_of(d); });
}

/// Value limited to [-1, 1]. NaN is returned unchanged.
template <class V>
inline V clipped(V x) {
  using T = typename SimdOf<V>::Element;
  const V low = x < T(-1) ? spread<V>(T(-1)) : x;
  return low > T(1) ? spread<V>(T(1)) : low;
}

/// Huber loss of an error d: d^2 / 2 if |d| <= 1, else |d| - 1/2. With c = d limited to [-1, 1], both are c (d - c /
/// 2).
template <class T>
void huber(i64 rows, i64 len, const T* prediction, const T* target, T* loss) {
  mean_of_errors(rows, len, prediction, target, loss, [](auto d, auto acc) {
    const auto c = clipped(d);
    return madd(c, d - T(0.5) * c, acc);
  });
}

template <class T>
void huber_grad(i64 rows, i64 total, i64 len, const T* prediction, const T* target, T* dprediction) {
  slope_of_errors(rows, total, len, 1.0, prediction, target, dprediction, [](auto d) { return clipped(d); });
}

/// Binary cross-entropy of a logit x and a target t: log(1 + e^x) - t x.
///
/// It is computed as max(x, 0) - t x + log(1 + e^-|x|), which does not overflow for finite x. The logarithm is accurate
/// where e^-|x| is small (Goldberg 1991, theorem 4). NaN is returned unchanged.
template <class V>
inline V log_loss_of(V x, V t) {
  using T = typename SimdOf<V>::Element;
  const V positive = x < T(0) ? V{} : x;
  const V rest = exp_of(x < T(0) ? x : -x);
  const V sum = rest + T(1);
  const V log_of_sum = sum == T(1) ? rest : log_of(sum) * (rest / (sum - T(1)));
  return (positive - t * x) + log_of_sum;
}

template <class T>
void bce(i64 rows, i64 len, const T* prediction, const T* target, T* loss) {
  for (i64 r = 0; r < rows; ++r, prediction += len, target += len) {
    loss[r] = tree_sum<T>(len,
                          [&](auto lanes, i64 i, auto acc) {
                            return acc + lanes.keep(log_loss_of(lanes.load(prediction + i), lanes.load(target + i)));
                          }) /
              static_cast<T>(len);
  }
}

template <class T>
void bce_grad(i64 rows, i64 total, i64 len, const T* prediction, const T* target, T* dprediction) {
  const T factor = static_cast<T>(1.0 / (static_cast<double>(total) * static_cast<double>(len)));
  map<T>(rows * len, prediction, target, dprediction, [=](auto x, auto t) { return (sigmoid_of(x) - t) * factor; });
}

template <class T>
constexpr LossKernel<T> kLosses[] = {
    {.name = "cross_entropy", .of_classes = cross_entropy<T>, .grad_of_classes = cross_entropy_grad<T>},
    {.name = "focal", .of_classes = focal<T>, .grad_of_classes = focal_grad<T>},
    {.name = "mse", .of_values = mse<T>, .grad_of_values = mse_grad<T>},
    {.name = "mae", .of_values = mae<T>, .grad_of_values = mae_grad<T>},
    {.name = "huber", .of_values = huber<T>, .grad_of_values = huber_grad<T>},
    {.name = "bce", .of_values = bce<T>, .grad_of_values = bce_grad<T>},
};

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
