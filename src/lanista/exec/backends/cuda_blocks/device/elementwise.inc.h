#pragma once
// Element-wise operators and softmax. Formulas are those of kernels/family/activation.inc.h and piecewise.inc.h.
#include "lanista/exec/backends/cuda_blocks/device/math.inc.h"

namespace lanista::device::block {
namespace {

constexpr float kTwoRoot = static_cast<float>(1.5957691216057307117597842397375), kCubic = static_cast<float>(0.044715);

BLOCK_FN float gelu_gate(float x) {
  const float inner = madd(x * x, kCubic, 1.0F);
  return sigmoid_of((x * kTwoRoot) * inner);
}

/// Returns the number of elements of a call. n: elements, elements per sample.
BLOCK_FN int count_of(const Call& call, const Frame& f) { return call.n[0] + call.n[1] * f.batch; }

/// n[2]: function. at: x, y.
BLOCK_OP int op_activation(const Call& call, const Frame& f, int first_thread) {
  const Reals x = place(f, call.at[0]), y = place(f, call.at[1]);
  const int count = count_of(call, f);
  switch (call.n[2]) {
    case kRelu:
      return map(count, x, y, first_thread, [](float v) { return relu_of(v); });
    case kGelu:
      return map<1>(count, x, y, first_thread, [](float v) { return v * gelu_gate(v); });
    case kSilu:
      return map<1>(count, x, y, first_thread, [](float v) { return v * sigmoid_of(v); });
    case kTanh:
      return map<1>(count, x, y, first_thread, [](float v) { return tanh_of(v); });
    case kSigmoid:
      return map<1>(count, x, y, first_thread, [](float v) { return sigmoid_of(v); });
    case kHardSwish:
      return map<1>(count, x, y, first_thread,
                    [](float v) { return v * clipped(madd(v, 1.0F / 6.0F, 0.5F), 0.0F, 1.0F); });
    case kGeluErf:
      return map<1>(count, x, y, first_thread, [](float v) { return v * normal_distribution(v); });
    case kSoftplus:
      return map<1>(count, x, y, first_thread, [](float v) { return softplus_of(v); });
    case kExp:
      return map<1>(count, x, y, first_thread, [](float v) { return exp_of(v); });
    case kLog:
      return map<1>(count, x, y, first_thread, [](float v) { return logarithm_of(v); });
    case kSqrt:
      return map<1>(count, x, y, first_thread, [](float v) { return root_of(v); });
    default:
      return map<2>(count, x, y, first_thread, [](float v) { return v / ((v < 0.0F ? -v : v) + 1.0F); });
  }
}

/// n[2]: function. at: saved value (x or y), dy, dx.
BLOCK_OP int op_activation_grad(const Call& call, const Frame& f, int first_thread) {
  const Reals saved = place(f, call.at[0]), dy = place(f, call.at[1]), dx = place(f, call.at[2]);
  const int count = count_of(call, f);
  switch (call.n[2]) {
    case kRelu:
      return map(count, saved, dy, dx, first_thread, [](float v, float d) { return v <= 0.0F ? 0.0F : d; });
    case kGelu:
      return map<1>(count, saved, dy, dx, first_thread, [](float v, float d) {
        const float gate = gelu_gate(v);
        const float slope = madd(v * v, 3.0F * kCubic * kTwoRoot, kTwoRoot);
        return d * madd(v * slope, gate * (1.0F - gate), gate);
      });
    case kSilu:
      return map<1>(count, saved, dy, dx, first_thread, [](float v, float d) {
        const float gate = sigmoid_of(v);
        return d * madd(v, gate * (1.0F - gate), gate);
      });
    case kTanh:
      return map<1>(count, saved, dy, dx, first_thread, [](float v, float d) { return d * ((1.0F - v) * (1.0F + v)); });
    case kSigmoid:
      return map<1>(count, saved, dy, dx, first_thread, [](float v, float d) { return d * (v * (1.0F - v)); });
    case kHardSwish:
      return map<1>(count, saved, dy, dx, first_thread, [](float v, float d) {
        const float bent = d * madd(v, 1.0F / 3.0F, 0.5F);
        const float open = v >= 3.0F ? d : bent;
        return v <= -3.0F ? 0.0F : open;
      });
    case kGeluErf:
      return map<1>(count, saved, dy, dx, first_thread,
                    [](float v, float d) { return d * madd(v, normal_density(v), normal_distribution(v)); });
    case kSoftplus:
      return map<1>(count, saved, dy, dx, first_thread, [](float v, float d) { return d * sigmoid_of(v); });
    case kExp:
      return map<1>(count, saved, dy, dx, first_thread, [](float v, float d) { return d * v; });
    case kLog:
      return map<1>(count, saved, dy, dx, first_thread, [](float v, float d) { return d / v; });
    case kSqrt:
      return map<1>(count, saved, dy, dx, first_thread, [](float v, float d) { return d / (v + v); });
    default:
      return map<2>(count, saved, dy, dx, first_thread, [](float v, float d) {
        const float below = (v < 0.0F ? -v : v) + 1.0F;
        return d / (below * below);
      });
  }
}

/// n[2]: function. x: its attributes. at: x, y.
BLOCK_OP int op_parametric_activation(const Call& call, const Frame& f, int first_thread) {
  const Reals x = place(f, call.at[0]), y = place(f, call.at[1]);
  const int count = count_of(call, f);
  const float a = call.x[0], b = call.x[1];
  switch (call.n[2]) {
    case kLeakyRelu:
      return map(count, x, y, first_thread, [a](float v) { return v < 0.0F ? v * a : v; });
    case kElu:
      return map<1>(count, x, y, first_thread, [a](float v) {
        const float bent = expm1_of(v) * a;
        return v > 0.0F ? v : bent;
      });
    case kClipped:
      return map(count, x, y, first_thread, [a, b](float v) { return clipped(v, a, b); });
    default:
      return map<2>(count, x, y, first_thread, [a, b](float v) { return clipped(madd(v, a, b), 0.0F, 1.0F); });
  }
}

/// n[2]: function. x: its attributes. at: saved, dy, dx.
BLOCK_OP int op_parametric_activation_grad(const Call& call, const Frame& f, int first_thread) {
  const Reals saved = place(f, call.at[0]), dy = place(f, call.at[1]), dx = place(f, call.at[2]);
  const int count = count_of(call, f);
  const float a = call.x[0], b = call.x[1];
  switch (call.n[2]) {
    case kLeakyRelu:
      return map(count, saved, dy, dx, first_thread, [a](float v, float d) { return v <= 0.0F ? d * a : d; });
    case kElu:
      return map<1>(count, saved, dy, dx, first_thread, [a](float v, float d) {
        const float bent = d * (v + a);
        return v > 0.0F ? d : bent;
      });
    case kClipped:
      return map(count, saved, dy, dx, first_thread, [a, b](float v, float d) { return inside(v, a, b, d); });
    default:
      return map<2>(count, saved, dy, dx, first_thread, [a](float v, float d) { return inside(v, 0.0F, 1.0F, d * a); });
  }
}

/// n[2]: function. at: a, b, y.
BLOCK_OP int op_binary(const Call& call, const Frame& f, int first_thread) {
  const Reals a = place(f, call.at[0]), b = place(f, call.at[1]), y = place(f, call.at[2]);
  const int count = count_of(call, f);
  if (call.after != kNoEpilogue) {  // only sums may have an epilogue
    const Finish finish = finish_of(call, f);
    if (count % 4 == 0 && whole(a) && whole(b) && whole(y) && whole(finish.saved)) {
      return each_four(count / 4, y, first_thread, [&](int i) {
        Four left = load4(a, 4 * i);
        const Four right = load4(b, 4 * i);
        BLOCK_UNROLL(4)
        for (int j = 0; j < 4; ++j) left.v[j] = left.v[j] + right.v[j];
        return finish.four_at(4 * i, left);
      });
    }
    return each_alone(count, y, first_thread, [&](int i) { return finish.at(i, a[i] + b[i]); });
  }
  switch (call.n[2]) {
    case kAdd:
      return map(count, a, b, y, first_thread, [](float u, float v) { return u + v; });
    case kSub:
      return map(count, a, b, y, first_thread, [](float u, float v) { return u - v; });
    case kMul:
      return map(count, a, b, y, first_thread, [](float u, float v) { return u * v; });
    default:
      return map(count, a, b, y, first_thread, [](float u, float v) { return u / v; });
  }
}

/// x[0]: the factor. at: x, y.
BLOCK_OP int op_scale(const Call& call, const Frame& f, int first_thread) {
  const float factor = call.x[0];
  return map(count_of(call, f), place(f, call.at[0]), place(f, call.at[1]), first_thread,
             [factor](float v) { return v * factor; });
}

/// at: y.
BLOCK_OP int op_zero(const Call& call, const Frame& f, int first_thread) {
  const Reals y = place(f, call.at[0]);
  return each(count_of(call, f), y, first_thread, [](int) { return 0.0F; });
}

/// at: x, y.
BLOCK_OP int op_copy(const Call& call, const Frame& f, int first_thread) {
  return map(count_of(call, f), place(f, call.at[0]), place(f, call.at[1]), first_thread, [](float v) { return v; });
}

/// Adds a row to every row of x. n[2]: length of the row. at: x, row, y.
BLOCK_OP int op_row_add(const Call& call, const Frame& f, int first_thread) {
  const Reals x = place(f, call.at[0]), row = place(f, call.at[1]), y = place(f, call.at[2]);
  const int columns = call.n[2];
  return each(count_of(call, f), y, first_thread, [&](int i) { return x[i] + row[i % columns]; });
}

/// A row of elements with the CPU's sums: in eight partial sums, element i in partial sum i mod 8.
struct Row {
  Reals at;
  int len;
};

BLOCK_FN float row_max(const Row& x) {
  float partial[8];
  BLOCK_UNROLL(8)
  for (int j = 0; j < 8; ++j) partial[j] = -infinity();
  int i = 0;
  for (; i + 8 <= x.len; i += 8) {
    BLOCK_UNROLL(8)
    for (int j = 0; j < 8; ++j) {
      const float v = x.at[i + j];
      partial[j] = v > partial[j] ? v : partial[j];
    }
  }
  BLOCK_UNROLL(8)
  for (int j = 0; j < 8; ++j) {
    if (i + j < x.len) {
      const float v = x.at[i + j];
      partial[j] = v > partial[j] ? v : partial[j];
    }
  }
  float most = partial[0];
  BLOCK_UNROLL(8)
  for (int j = 1; j < 8; ++j) most = partial[j] > most ? partial[j] : most;
  return most;
}

/// Returns the sum that acc = f(i, acc) gives in eight partial sums, which are added in a fixed order.
template <class F>
BLOCK_FN float tree_sum(int len, const F& f) {
  float partial[8];
  BLOCK_UNROLL(8)
  for (int j = 0; j < 8; ++j) partial[j] = 0.0F;
  int i = 0;
  for (; i + 8 <= len; i += 8) {
    BLOCK_UNROLL(8)
    for (int j = 0; j < 8; ++j) partial[j] = f(i + j, partial[j]);
  }
  BLOCK_UNROLL(8)
  for (int j = 0; j < 8; ++j) {
    if (i + j < len) partial[j] = f(i + j, partial[j]);
  }
  return tree_of<float>(partial, 0);
}

/// Stores y[i] = f(i) along a row, with eight loads before a store.
template <class F>
BLOCK_FN void each_of_row(int len, Reals y, const F& f) {
  int i = 0;
  for (; i + 8 <= len; i += 8) {
    float value[8];
    BLOCK_UNROLL(8)
    for (int j = 0; j < 8; ++j) value[j] = f(i + j);
    BLOCK_UNROLL(8)
    for (int j = 0; j < 8; ++j) y[i + j] = value[j];
  }
  for (; i < len; ++i) y[i] = f(i);
}

/// Stores y = exp(x - most) / sum and returns the sum.
BLOCK_FN float softmax_row(const Row& x, float most, Reals y) {
  each_of_row(x.len, y, [&](int i) { return exp_of(x.at[i] - most); });
  const float sum = tree_sum(x.len, [&](int i, float acc) { return acc + y[i]; });
  each_of_row(x.len, y, [&](int i) { return y[i] / sum; });
  return sum;
}

/// Contiguous rows: eight threads per row, each with one of its eight partial sums.
BLOCK_FN int softmax_of_rows(int rows, int len, Reals x, Reals y, Reals most, Reals sums, int first_thread) {
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < 8 * rows; i += kThreads) {
      const int start = i / 8 * len;
      float best = -infinity();
      BLOCK_UNROLL_BY(4)
      for (int k = i % 8; k < len; k += 8) {
        const float v = x[start + k];
        best = v > best ? v : best;
      }
      most[i] = best;
    }
  }
  lane_barrier();
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < 8 * rows; i += kThreads) {
      const int row = i / 8 * 8, start = i / 8 * len;
      float best = most[row], sum = 0.0F;
      BLOCK_UNROLL(8)
      for (int j = 1; j < 8; ++j) {
        const float v = most[row + j];
        best = v > best ? v : best;
      }
      BLOCK_UNROLL_BY(4)
      for (int k = i % 8; k < len; k += 8) {
        const float e = exp_of(x[start + k] - best);
        y[start + k] = e;
        sum += e;
      }
      sums[i] = sum;
    }
  }
  lane_barrier();
  return each(rows * len, y, first_thread, [&](int i) { return y[i] / tree_of<float>(sums, i / len * 8); });
}

/// n: rows per sample, len, inner. at: x, y, scratch [16 rows].
BLOCK_OP int op_softmax(const Call& call, const Frame& f, int first_thread) {
  const Reals x = place(f, call.at[0]), y = place(f, call.at[1]);
  const int outer = call.n[0] * f.batch, len = call.n[1], inner = call.n[2], items = outer * inner;
  if (inner == 1) {
    const Reals scratch = place(f, call.at[2]);
    return softmax_of_rows(outer, len, x, y, scratch, scratch + 8 * outer, first_thread);
  }
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < items; i += kThreads) {
      const int start = i / inner * len * inner + i % inner;
      float most = -infinity(), sum = 0.0F;
      BLOCK_UNROLL_BY(8)
      for (int l = 0; l < len; ++l) {
        const float v = x[start + l * inner];
        most = v > most ? v : most;
      }
      for (int l = 0; l < len; ++l) {
        const float e = exp_of(x[start + l * inner] - most);
        sum += e;
        y[start + l * inner] = e;
      }
      for (int l = 0; l < len; ++l) y[start + l * inner] = y[start + l * inner] / sum;
    }
  }
  return used(items);
}

/// dx = y (dy - sum y dy). at: y, dy, dx, scratch [8 rows].
BLOCK_OP int op_softmax_grad(const Call& call, const Frame& f, int first_thread) {
  const Reals y = place(f, call.at[0]), dy = place(f, call.at[1]), dx = place(f, call.at[2]);
  const int outer = call.n[0] * f.batch, len = call.n[1], inner = call.n[2], items = outer * inner;
  if (inner == 1) {
    const Reals dots = place(f, call.at[3]);
    PHASE(t) {
      BLOCK_UNROLL_BY(1)
      for (int i = t; i < 8 * outer; i += kThreads) {
        const int start = i / 8 * len;
        float dot = 0.0F;
        BLOCK_UNROLL_BY(4)
        for (int k = i % 8; k < len; k += 8) dot = madd(y[start + k], dy[start + k], dot);
        dots[i] = dot;
      }
    }
    lane_barrier();
    return each(outer * len, dx, first_thread,
                [&](int i) { return y[i] * (dy[i] - tree_of<float>(dots, i / len * 8)); });
  }
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < items; i += kThreads) {
      const int start = i / inner * len * inner + i % inner;
      float dot = 0.0F;
      for (int l = 0; l < len; ++l) dot = madd(y[start + l * inner], dy[start + l * inner], dot);
      for (int l = 0; l < len; ++l) {
        const int at = start + l * inner;
        dx[at] = y[at] * (dy[at] - dot);
      }
    }
  }
  return used(items);
}

/// Four random words: one counter of Philox4x32-10 under a key.
struct Words {
  u32 w[4];
};
BLOCK_FN Words philox(u64 key, u64 high, u64 low) {
  u32 c0 = static_cast<u32>(low), c1 = static_cast<u32>(low >> 32), c2 = static_cast<u32>(high);
  u32 c3 = static_cast<u32>(high >> 32), k0 = static_cast<u32>(key), k1 = static_cast<u32>(key >> 32);
  BLOCK_UNROLL_BY(1)
  for (int round = 0; round < 10; ++round) {
    const u64 a = static_cast<u64>(0xD2511F53U) * c0, b = static_cast<u64>(0xCD9E8D57U) * c2;
    c0 = static_cast<u32>(b >> 32) ^ c1 ^ k0;
    c1 = static_cast<u32>(b);
    c2 = static_cast<u32>(a >> 32) ^ c3 ^ k1;
    c3 = static_cast<u32>(a);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {{c0, c1, c2, c3}};
}

/// n: elements per sample, index of p among the lane attributes, node (two words). at: x, y.
BLOCK_OP int op_dropout(const Call& call, const Frame& f, int first_thread) {
  const Reals x = place(f, call.at[0]), y = place(f, call.at[1]);
  const int per_sample = call.n[0], blocks = (per_sample + 31) / 32 * 8, items = blocks * f.batch;
  const double p = f.step->lane_attrs[call.n[1]];
  const u64 node = static_cast<u64>(static_cast<u32>(call.n[2])) | static_cast<u64>(static_cast<u32>(call.n[3])) << 32;
  const Words mixed = philox(f.seed, node, f.step->done);
  const u64 key = static_cast<u64>(mixed.w[1]) << 32 | mixed.w[0];
  const double bound = (1.0 - p) * 4294967296.0;
  u64 least_dropped = bound <= 0 ? 0 : (bound >= 4294967296.0 ? u64{1} << 32 : static_cast<u64>(bound));
  if (static_cast<double>(least_dropped) < bound) ++least_dropped;
  const float factor = p < 1 ? static_cast<float>(1.0 / (1.0 - p)) : 0.0F;
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < items; i += kThreads) {
      const int sample = i / blocks, counter = i % blocks;
      const Words words = philox(key, static_cast<u64>(f.step->samples[sample]), static_cast<u64>(counter));
      BLOCK_UNROLL(4)
      for (int w = 0; w < 4; ++w) {
        const int e = counter / 8 * 32 + w * 8 + counter % 8;
        if (e >= per_sample) continue;
        const int at = sample * per_sample + e;
        y[at] = words.w[w] < least_dropped ? x[at] * factor : 0.0F;
      }
    }
  }
  return used(items);
}

}  // namespace
}  // namespace lanista::device::block
