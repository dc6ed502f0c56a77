#pragma once
// Losses, their gradients, and the mean of a batch. Sample weights multiply every loss.
#include "lanista/exec/backends/cuda_blocks/device/elementwise.inc.h"

namespace lanista::device::block {
namespace {

/// n: classes, positions per sample. at: logits, labels, loss, probabilities, scratch [positions of a batch].
BLOCK_OP int op_cross_entropy(const Call& call, const Frame& f, int first_thread) {
  const Reals logits = place(f, call.at[0]), loss = place(f, call.at[2]), saved = place(f, call.at[3]);
  const Ints target = ints_at(place(f, call.at[1]));
  const int classes = call.n[0], positions = call.n[1], rows = f.batch * positions;
  const double smoothing = f.step->smoothing;
  const float hard = static_cast<float>(1.0 - smoothing);
  const float soft = static_cast<float>(smoothing / static_cast<double>(classes));
  const Reals of_rows = positions == 1 ? loss : place(f, call.at[4]);
  const float* const weights = f.step->weights;
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int r = t; r < rows; r += kThreads) {
      const Row x{logits + r * classes, classes};
      const float most = row_max(x);
      const float sum = softmax_row(x, most, saved + r * classes);
      float rest = hard * (x.at[target[r]] - most);
      if (smoothing != 0) {
        const float all = tree_sum(classes, [&](int i, float acc) { return acc + (x.at[i] - most); });
        rest = madd(soft, all, rest);
      }
      const float own = log_of(sum) - rest;
      of_rows[r] = positions == 1 && weights != nullptr ? own * weights[r] : own;
    }
  }
  if (positions == 1) return used(rows);
  lane_barrier();
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int n = t; n < f.batch; n += kThreads) {
      float sum = 0.0F;
      for (int i = 0; i < positions; ++i) sum += of_rows[n * positions + i];
      const float own = sum / static_cast<float>(positions);
      loss[n] = weights != nullptr ? own * weights[n] : own;
    }
  }
  return used(f.batch);
}

/// n: as for op_cross_entropy. at: probabilities, labels, dlogits.
BLOCK_OP int op_cross_entropy_grad(const Call& call, const Frame& f, int first_thread) {
  const Reals saved = place(f, call.at[0]), dlogits = place(f, call.at[2]);
  const Ints target = ints_at(place(f, call.at[1]));
  const int classes = call.n[0], positions = call.n[1];
  const double smoothing = f.step->smoothing;
  const float soft = static_cast<float>(smoothing / static_cast<double>(classes));
  const float hard = static_cast<float>(1.0 - smoothing + smoothing / static_cast<double>(classes));
  const float share = static_cast<float>(1.0 / static_cast<double>(f.batch * positions));
  const float* const weights = f.step->weights;
  return each(f.batch * positions * classes, dlogits, first_thread, [&](int i) {
    const int row = i / classes;
    const float own = (saved[i] - (target[row] == i % classes ? hard : soft)) * share;
    return weights != nullptr ? own * weights[row / positions] : own;
  });
}

BLOCK_FN float sign_of(float x) {
  const float down = x < 0.0F ? -1.0F : x;
  return x > 0.0F ? 1.0F : down;
}

BLOCK_FN float log_loss_of(float x, float t) {
  const float positive = x < 0.0F ? 0.0F : x;
  const float rest = exp_of(x < 0.0F ? x : -x);
  const float sum = rest + 1.0F;
  const float log_of_sum = sum == 1.0F ? rest : log_of(sum) * (rest / (sum - 1.0F));
  return (positive - t * x) + log_of_sum;
}

BLOCK_FN float huber_of(float d, float acc) {
  const float c = clipped(d, -1.0F, 1.0F);
  return madd(c, d - 0.5F * c, acc);
}

#define BLOCK_LOSS_TERM(name, Name, factor, term, slope) \
  if (which == k##Name) return term;
#define BLOCK_LOSS_SLOPE(name, Name, factor, term, slope) \
  if (which == k##Name) return slope;
#define BLOCK_LOSS_FACTOR(name, Name, factor, term, slope) \
  if (which == k##Name) return factor;
BLOCK_FN float loss_term(int which, float x, float t, float acc) {
  const float d = x - t;
  BLOCK_VALUE_LOSSES(BLOCK_LOSS_TERM)
  return acc;
}
BLOCK_FN float loss_slope(int which, float x, float t) {
  const float d = x - t;
  BLOCK_VALUE_LOSSES(BLOCK_LOSS_SLOPE)
  return 0.0F;
}
BLOCK_FN double slope_factor(int which) {
  BLOCK_VALUE_LOSSES(BLOCK_LOSS_FACTOR)
  return 0.0;
}
#undef BLOCK_LOSS_TERM
#undef BLOCK_LOSS_SLOPE
#undef BLOCK_LOSS_FACTOR

/// n: values per sample, ValueLoss. at: predictions, targets, loss of each sample.
BLOCK_OP int op_value_loss(const Call& call, const Frame& f, int first_thread) {
  const Reals x = place(f, call.at[0]), target = place(f, call.at[1]), loss = place(f, call.at[2]);
  const int len = call.n[0], which = call.n[1];
  const float* const weights = f.step->weights;
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int r = t; r < f.batch; r += kThreads) {
      const int start = r * len;
      const float sum =
          tree_sum(len, [&](int i, float acc) { return loss_term(which, x[start + i], target[start + i], acc); });
      const float own = sum / static_cast<float>(len);
      loss[r] = weights != nullptr ? own * weights[r] : own;
    }
  }
  return used(f.batch);
}

/// n: as for op_value_loss. at: predictions, targets, dpredictions.
BLOCK_OP int op_value_loss_grad(const Call& call, const Frame& f, int first_thread) {
  const Reals x = place(f, call.at[0]), target = place(f, call.at[1]), dx = place(f, call.at[2]);
  const int len = call.n[0], which = call.n[1];
  const float factor =
      static_cast<float>(slope_factor(which) / (static_cast<double>(f.batch) * static_cast<double>(len)));
  const float* const weights = f.step->weights;
  return each(f.batch * len, dx, first_thread, [&](int i) {
    const float own = loss_slope(which, x[i], target[i]) * factor;
    return weights != nullptr ? own * weights[i / len] : own;
  });
}

/// Computes the loss of the step: the mean over its samples. at: losses of samples.
BLOCK_OP int op_mean_loss(const Call& call, const Frame& f, int first_thread) {
  const Reals loss = place(f, call.at[0]);
  PHASE(t) {
    if (t == 0) {
      float sum = 0.0F;
      BLOCK_UNROLL_BY(8)
      for (int i = 0; i < f.batch; ++i) sum += loss[i];
      *f.loss = sum / static_cast<float>(f.batch);
    }
  }
  return used(1);
}

}  // namespace
}  // namespace lanista::device::block
