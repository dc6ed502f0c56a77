#pragma once
// Batch and layer normalisation. Sums over rows have four partial sums (row r in partial sum r mod 4); sums along a row
// have eight. Partial sums are outputs of a phase. A thread that needs the whole sum adds them.
#include "lanista/exec/backends/cuda_blocks/device/math.inc.h"

namespace lanista::device::block {
namespace {

/// Returns one partial sum of a column. It has rows first, first + step and so on.
template <class F>
BLOCK_FN float partial_sum(int rows, int first, int step, const F& f) {
  float sum = 0.0F;
  BLOCK_UNROLL_BY(8)
  for (int r = first; r < rows; r += step) sum = f(r, sum);
  return sum;
}

/// Continues the partial sum `first`, one of four, over the rows from begin to end. `begin` is a multiple of four.
template <class F>
BLOCK_FN float further_sum(float sum, int begin, int end, int first, const F& f) {
  BLOCK_UNROLL_BY(16)
  for (int r = begin + first; r < end; r += 4) sum = f(r, sum);
  return sum;
}

/// Returns the sum of the four partial sums of column j, which are `c` apart.
BLOCK_FN float four_of(Reals partial, int c, int j) {
  return (partial[j] + partial[2 * c + j]) + (partial[c + j] + partial[3 * c + j]);
}

/// n: rows per sample, c, index of the momentum. x: eps.
/// at: x, gamma, beta, mean, variance, y, mean, inverse deviation, new mean, new variance, scratch [9 c].
BLOCK_OP int op_batch_norm(const Call& call, const Frame& f, int first_thread) {
  const Reals x = place(f, call.at[0]), old_mean = place(f, call.at[3]), old_var = place(f, call.at[4]);
  const Reals y = place(f, call.at[5]), mean = place(f, call.at[6]), inv_std = place(f, call.at[7]);
  const Reals new_mean = place(f, call.at[8]), new_var = place(f, call.at[9]), scratch = place(f, call.at[10]);
  const bool has_gamma = call.at[1] != kNowhere, has_beta = call.at[2] != kNowhere;
  const Reals gamma = has_gamma ? place(f, call.at[1]) : x, beta = has_beta ? place(f, call.at[2]) : x;
  const int rows = call.n[0] * f.batch, c = call.n[1];
  const float eps = call.x[0], count = static_cast<float>(rows), unbiased = static_cast<float>(rows - 1);
  const double momentum = f.step->lane_attrs[call.n[2]];
  const float keep = static_cast<float>(1.0 - momentum), take = static_cast<float>(momentum);
  const Reals squares = scratch + 4 * c, slope = scratch + 8 * c;
  const int at_once = rows_at_once(rows, c);
  const auto near = [&](int begin, int some, int items) { prefetch(x + begin * c, some * c, items); };
  in_chunks(rows, at_once, 4 * c, near, [&](int i, int begin, int end) {
    const int j = i % c;
    const float first = x[j];
    scratch[i] = further_sum(begin == 0 ? 0.0F : scratch[i], begin, end, i / c,
                             [&](int r, float sum) { return sum + (x[r * c + j] - first); });
  });
  in_chunks(rows, at_once, 4 * c, near, [&](int i, int begin, int end) {
    const int j = i % c;
    const float m = x[j] + four_of(scratch, c, j) / count;
    squares[i] = further_sum(begin == 0 ? 0.0F : squares[i], begin, end, i / c, [&](int r, float sum) {
      const float d = x[r * c + j] - m;
      return madd(d, d, sum);
    });
    if (i < c) mean[j] = m;
  });
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int j = t; j < c; j += kThreads) {
      const float m = mean[j], square = four_of(squares, c, j);
      const float inverse = 1.0F / root_of(square / count + eps);
      inv_std[j] = inverse;
      new_mean[j] = madd(old_mean[j], keep, m * take);
      const float old = old_var[j];
      // One value has no variance, so the running variance stays.
      new_var[j] = rows > 1 ? madd(old, keep, (square / unbiased) * take) : old;
      slope[j] = inverse * (has_gamma ? gamma[j] : 1.0F);
    }
  }
  lane_barrier();
  const Finish finish = finish_of(call, f);
  if (c % 4 == 0 && whole(x) && whole(y) && whole(mean) && whole(slope) && (!has_beta || whole(beta)) &&
      whole(finish.saved)) {
    return each_four(rows * c / 4, y, first_thread, [&](int i) {
      const int j = 4 * i % c;
      Four to = load4(x, 4 * i), shift = {};
      const Four m = load4(mean, j), times = load4(slope, j);
      if (has_beta) shift = load4(beta, j);
      BLOCK_UNROLL(4)
      for (int k = 0; k < 4; ++k) to.v[k] = madd(to.v[k] - m.v[k], times.v[k], shift.v[k]);
      return finish.four_at(4 * i, to);
    });
  }
  return each(rows * c, y, first_thread, [&](int i) {
    const int j = i % c;
    return finish.at(i, madd(x[i] - mean[j], slope[j], has_beta ? beta[j] : 0.0F));
  });
}

/// n: rows per sample, c. at: x, mean, inverse deviation, dy, gamma, dx, dgamma, dbeta, scratch [11 c].
BLOCK_OP int op_batch_norm_grad(const Call& call, const Frame& f, int first_thread) {
  const Reals x = place(f, call.at[0]), mean = place(f, call.at[1]), inv_std = place(f, call.at[2]);
  const Reals dy = place(f, call.at[3]), dx = place(f, call.at[5]), dgamma = place(f, call.at[6]);
  const Reals dbeta = place(f, call.at[7]), sums = place(f, call.at[8]);
  const bool has_gamma = call.at[4] != kNowhere;
  const Reals gamma = has_gamma ? place(f, call.at[4]) : x;
  const int rows = call.n[0] * f.batch, c = call.n[1];
  const float count = static_cast<float>(rows);
  const Reals dots = sums + 4 * c, mean_dy = sums + 8 * c, mean_dot = sums + 9 * c, slope = sums + 10 * c;
  const auto near = [&](int begin, int some, int items) {
    prefetch(x + begin * c, some * c, items);
    prefetch(dy + begin * c, some * c, items);
  };
  in_chunks(rows, rows_at_once(rows, 2 * c), 8 * c, near, [&](int i, int begin, int end) {
    const int j = i % c, q = i / c % 4;
    if (i < 4 * c) {
      sums[i] = further_sum(begin == 0 ? 0.0F : sums[i], begin, end, q,
                            [&](int r, float sum) { return sum + dy[r * c + j]; });
      return;
    }
    const float m = mean[j], inverse = inv_std[j];
    dots[i - 4 * c] = further_sum(begin == 0 ? 0.0F : dots[i - 4 * c], begin, end, q, [&](int r, float sum) {
      return madd((x[r * c + j] - m) * inverse, dy[r * c + j], sum);
    });
  });
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int j = t; j < c; j += kThreads) {
      const float sum = four_of(sums, c, j), dot = four_of(dots, c, j), inverse = inv_std[j];
      dbeta[j] = sum;
      dgamma[j] = dot;
      slope[j] = inverse * (has_gamma ? gamma[j] : 1.0F);
      mean_dy[j] = sum / count;
      mean_dot[j] = (dot / count) * inverse;
    }
  }
  lane_barrier();
  if (c % 4 == 0 && whole(x) && whole(dy) && whole(dx) && whole(mean) && whole(mean_dy)) {
    return each_four(rows * c / 4, dx, first_thread, [&](int i) {
      const int j = 4 * i % c;
      const Four of = load4(x, 4 * i), m = load4(mean, j), md = load4(mean_dy, j), dot = load4(mean_dot, j);
      const Four times = load4(slope, j);
      Four d = load4(dy, 4 * i);
      BLOCK_UNROLL(4)
      for (int k = 0; k < 4; ++k) {
        const float centred = d.v[k] - md.v[k];
        d.v[k] = times.v[k] * madd(-(of.v[k] - m.v[k]), dot.v[k], centred);
      }
      return d;
    });
  }
  return each(rows * c, dx, first_thread, [&](int i) {
    const int j = i % c;
    const float centred = dy[i] - mean_dy[j];
    return slope[j] * madd(-(x[i] - mean[j]), mean_dot[j], centred);
  });
}

/// n: rows per sample, len. x: eps. at: x, gamma, beta, y, mean, inverse deviation, scratch [16 rows].
BLOCK_OP int op_layer_norm(const Call& call, const Frame& f, int first_thread) {
  const Reals x = place(f, call.at[0]), y = place(f, call.at[3]), mean = place(f, call.at[4]);
  const Reals inv_std = place(f, call.at[5]), distances = place(f, call.at[6]);
  const bool has_gamma = call.at[1] != kNowhere, has_beta = call.at[2] != kNowhere;
  const Reals gamma = has_gamma ? place(f, call.at[1]) : x, beta = has_beta ? place(f, call.at[2]) : x;
  const int rows = call.n[0] * f.batch, len = call.n[1];
  const float eps = call.x[0], count = static_cast<float>(len);
  const Reals squares = distances + 8 * rows;
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < 8 * rows; i += kThreads) {
      const int start = i / 8 * len;
      const float first = x[start];
      distances[i] = partial_sum(len, i % 8, 8, [&](int k, float sum) { return sum + (x[start + k] - first); });
    }
  }
  lane_barrier();
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < 8 * rows; i += kThreads) {
      const int row = i / 8, start = row * len;
      const float m = x[start] + tree_of<float>(distances, 8 * row) / count;
      squares[i] = partial_sum(len, i % 8, 8, [&](int k, float sum) {
        const float d = x[start + k] - m;
        return madd(d, d, sum);
      });
      if (i % 8 == 0) mean[row] = m;
    }
  }
  lane_barrier();
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int row = t; row < rows; row += kThreads) {
      inv_std[row] = 1.0F / root_of(tree_of<float>(squares, 8 * row) / count + eps);
    }
  }
  lane_barrier();
  const bool fours = len % 4 == 0 && whole(x) && whole(y);
  if (fours && (!has_gamma || whole(gamma)) && (!has_beta || whole(beta))) {
    return each_four(rows * len / 4, y, first_thread, [&](int i) {
      const int row = 4 * i / len, k = 4 * i % len;
      Four to = load4(x, 4 * i), times = {{1.0F, 1.0F, 1.0F, 1.0F}}, shift = {};
      if (has_gamma) times = load4(gamma, k);
      if (has_beta) shift = load4(beta, k);
      const float m = mean[row], inverse = inv_std[row];
      BLOCK_UNROLL(4)
      for (int j = 0; j < 4; ++j) to.v[j] = madd((to.v[j] - m) * inverse, times.v[j], shift.v[j]);
      return to;
    });
  }
  return each(rows * len, y, first_thread, [&](int i) {
    const int row = i / len, k = i % len;
    return madd((x[i] - mean[row]) * inv_std[row], has_gamma ? gamma[k] : 1.0F, has_beta ? beta[k] : 0.0F);
  });
}

/// n: rows per sample, len. at: x, mean, inverse deviation, dy, gamma, dx, dgamma, dbeta, scratch [18 rows].
BLOCK_OP int op_layer_norm_grad(const Call& call, const Frame& f, int first_thread) {
  const Reals x = place(f, call.at[0]), mean = place(f, call.at[1]), inv_std = place(f, call.at[2]);
  const Reals dy = place(f, call.at[3]), dx = place(f, call.at[5]), dgamma = place(f, call.at[6]);
  const Reals dbeta = place(f, call.at[7]), sums = place(f, call.at[8]);
  const bool has_gamma = call.at[4] != kNowhere;
  const Reals gamma = has_gamma ? place(f, call.at[4]) : x;
  const int rows = call.n[0] * f.batch, len = call.n[1];
  const float count = static_cast<float>(len);
  const Reals dots = sums + 8 * rows, mean_dy = sums + 16 * rows, mean_dot = sums + 17 * rows;
  PHASE(t) {
    // Sums over all rows are the longest, so they come first.
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < 2 * len + 8 * rows; i += kThreads) {
      if (i < len) {
        dgamma[i] = partial_sum(rows, 0, 1, [&](int r, float sum) {
          return madd(dy[r * len + i], (x[r * len + i] - mean[r]) * inv_std[r], sum);
        });
      } else if (i < 2 * len) {
        dbeta[i - len] = partial_sum(rows, 0, 1, [&](int r, float sum) { return sum + dy[r * len + i - len]; });
      } else {
        const int j = i - 2 * len, row = j / 8, start = row * len;
        const float m = mean[row], inverse = inv_std[row];
        sums[j] = partial_sum(len, j % 8, 8,
                              [&](int k, float sum) { return madd(dy[start + k], has_gamma ? gamma[k] : 1.0F, sum); });
        dots[j] = partial_sum(len, j % 8, 8, [&](int k, float sum) {
          const float hat = (x[start + k] - m) * inverse;
          return madd(dy[start + k] * (has_gamma ? gamma[k] : 1.0F), hat, sum);
        });
      }
    }
  }
  lane_barrier();
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int row = t; row < rows; row += kThreads) {
      mean_dy[row] = tree_of<float>(sums, 8 * row) / count;
      mean_dot[row] = tree_of<float>(dots, 8 * row) / count;
    }
  }
  lane_barrier();
  if (len % 4 == 0 && whole(x) && whole(dy) && whole(dx) && (!has_gamma || whole(gamma))) {
    return each_four(rows * len / 4, dx, first_thread, [&](int i) {
      const int row = 4 * i / len;
      const Four of = load4(x, 4 * i);
      Four d = load4(dy, 4 * i), times = {{1.0F, 1.0F, 1.0F, 1.0F}};
      if (has_gamma) times = load4(gamma, 4 * i % len);
      const float m = mean[row], inverse = inv_std[row], md = mean_dy[row], dot = mean_dot[row];
      BLOCK_UNROLL(4)
      for (int j = 0; j < 4; ++j) {
        const float hat = (of.v[j] - m) * inverse;
        d.v[j] = inverse * madd(-hat, dot, madd(d.v[j], times.v[j], -md));
      }
      return d;
    });
  }
  return each(rows * len, dx, first_thread, [&](int i) {
    const int row = i / len;
    const float inverse = inv_std[row], hat = (x[i] - mean[row]) * inverse;
    const float centred = madd(dy[i], has_gamma ? gamma[i % len] : 1.0F, -mean_dy[row]);
    return inverse * madd(-hat, mean_dot[row], centred);
  });
}

}  // namespace
}  // namespace lanista::device::block
