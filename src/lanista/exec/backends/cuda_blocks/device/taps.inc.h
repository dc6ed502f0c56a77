#pragma once
// Convolutions: sums over taps, ascending kh, kw and channel. Taps outside of an image are skipped, not multiplied by
// zero.
#include "lanista/exec/backends/cuda_blocks/device/dense.inc.h"

namespace lanista::device::block {
namespace {

/// One axis. Forward: output position o reads source o * stride - pad + tap * dilation. Backward: input position i
/// reads output (i + pad - tap * dilation) / stride if that is an integer.
struct TapAxis {
  int positions, length, taps, stride, pad, dilation;
  bool backward;

  BLOCK_METHOD int meets(int position, int tap) const {  // source position, or -1
    int at = backward ? position + pad - tap * dilation : position * stride - pad + tap * dilation;
    if (backward && stride != 1) {
      if (at < 0 || at % stride != 0) return -1;
      at /= stride;
    }
    return at >= 0 && at < length ? at : -1;
  }
};

/// A sum over taps from a source image to a target image.
struct Taps {
  Reals source, weights, bias, target;
  bool biased, relu, wide_target;
  TapAxis h, w;
  int samples, source_c, target_c;  // channels of the whole images
  int k, columns, groups;           // channels of a group
  int weight_tap, weight_k, weight_group;
  Finish finish;
};

/// n: h, w, ci, oh, ow, co, kh, kw, strides, pads, dilations, groups, relu, backward.
BLOCK_FN Taps taps_of(const Call& call, const Frame& f) {
  const int* n = call.n;
  const bool backward = n[16] != 0;
  Taps s;
  s.source = place(f, call.at[0]);
  s.weights = place(f, call.at[1]);
  s.biased = call.at[2] != kNowhere;
  s.bias = s.biased ? place(f, call.at[2]) : s.weights;
  s.target = place(f, call.at[3]);
  s.relu = n[15] != 0;
  s.finish = finish_of(call, f);
  s.samples = f.batch;
  s.groups = n[14];
  const int ci = n[2], co = n[5];
  s.h = TapAxis{backward ? n[0] : n[3], backward ? n[3] : n[0], n[6], n[8], n[10], n[12], backward};
  s.w = TapAxis{backward ? n[1] : n[4], backward ? n[4] : n[1], n[7], n[9], n[11], n[13], backward};
  s.source_c = backward ? co : ci;
  s.target_c = backward ? ci : co;
  s.k = s.source_c / s.groups;
  s.columns = s.target_c / s.groups;
  s.weight_tap = ci / s.groups * co;
  // In the backward pass, weights are transposed: [tap][co][ci / groups].
  s.weight_k = backward ? s.columns : co;
  s.weight_group = backward ? s.k * s.columns : s.columns;
  s.wide_target = s.target_c % 4 == 0 && whole(s.target) && whole(s.finish.saved);
  return s;
}

/// Rows of a tile are neighbours in a row of the target: `line` is sample and row, `w` the first of them.
template <int kRows, int kColumns, bool kLeft, bool kRight>
BLOCK_FN void tap_tile(const Taps& s, int line, int w, int group, int column) {
  float sum[kRows][kColumns];
  BLOCK_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    BLOCK_UNROLL(4)
    for (int j = 0; j < kColumns; ++j) sum[r][j] = 0.0F;
  }
  const int h = line % s.h.positions, image = line / s.h.positions * s.h.length;
  const Reals weights = s.weights + (group * s.weight_group + column);
  int last[kColumns];  // missing columns read the last one
  BLOCK_UNROLL(4)
  for (int j = 0; j < kColumns; ++j) last[j] = smaller(column + j, s.columns - 1) - column;
  BLOCK_UNROLL_BY(1)
  for (int th = 0; th < s.h.taps; ++th) {
    const int sh = s.h.meets(h, th);
    if (sh < 0) continue;
    const int source_row = (image + sh) * s.w.length;
    BLOCK_UNROLL_BY(1)
    for (int tw = 0; tw < s.w.taps; ++tw) {
      int at[kRows];
      bool seen[kRows];
      BLOCK_UNROLL(8)
      for (int r = 0; r < kRows; ++r) {
        const int sw = s.w.meets(w + r, tw);
        seen[r] = sw >= 0;
        at[r] = (source_row + larger(sw, 0)) * s.source_c + group * s.k;
      }
      const Reals right = weights + (th * s.w.taps + tw) * s.weight_tap;
      int k = 0;
      if (kLeft) {
        BLOCK_UNROLL_BY(kRows == 8 ? 1 : 2)
        for (; k + 4 <= s.k; k += 4) {
          Four left[kRows], column_of[4];
          BLOCK_UNROLL(8)
          for (int r = 0; r < kRows; ++r) left[r] = load4(s.source, at[r] + k);
          BLOCK_UNROLL(4)
          for (int q = 0; q < 4; ++q) {
            if (kRight) {
              column_of[q] = load4(right, (k + q) * s.weight_k);
            } else {
              BLOCK_UNROLL(4)
              for (int j = 0; j < kColumns; ++j) column_of[q].v[j] = right[(k + q) * s.weight_k + last[j]];
            }
          }
          BLOCK_UNROLL(4)
          for (int q = 0; q < 4; ++q) {
            BLOCK_UNROLL(8)
            for (int r = 0; r < kRows; ++r) {
              BLOCK_UNROLL(4)
              for (int j = 0; j < kColumns; ++j) {
                if (seen[r]) sum[r][j] = madd(left[r].v[q], column_of[q].v[j], sum[r][j]);
              }
            }
          }
        }
      }
      BLOCK_UNROLL_BY(1)
      for (; k < s.k; ++k) {
        Four column_of;
        if (kRight) {
          column_of = load4(right, k * s.weight_k);
        } else {
          BLOCK_UNROLL(4)
          for (int j = 0; j < kColumns; ++j) column_of.v[j] = right[k * s.weight_k + last[j]];
        }
        BLOCK_UNROLL(8)
        for (int r = 0; r < kRows; ++r) {
          const float left = s.source[at[r] + k];
          BLOCK_UNROLL(4)
          for (int j = 0; j < kColumns; ++j) {
            if (seen[r]) sum[r][j] = madd(left, column_of.v[j], sum[r][j]);
          }
        }
      }
    }
  }
  Four bias = {};
  BLOCK_UNROLL(4)
  for (int j = 0; j < kColumns; ++j) {
    if (s.biased) bias.v[j] = s.bias[group * s.columns + column + last[j]];
  }
  BLOCK_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    if (w + r >= s.w.positions) continue;
    Four value;
    BLOCK_UNROLL(4)
    for (int j = 0; j < kColumns; ++j) {
      value.v[j] = s.biased ? sum[r][j] + bias.v[j] : sum[r][j];
      if (s.relu) value.v[j] = relu_of(value.v[j]);
    }
    const int to = (line * s.w.positions + w + r) * s.target_c + group * s.columns + column;
    if (kRight && s.wide_target) {
      store4(s.target, to, s.finish.four_at(to, value));
    } else {
      BLOCK_UNROLL(4)
      for (int j = 0; j < kColumns; ++j) {
        if (column + j < s.columns) s.target[to + j] = s.finish.at(to + j, value.v[j]);
      }
    }
  }
}

BLOCK_FN int tap_tiles(const Taps& s, int rows, int columns) {
  return s.groups * s.samples * s.h.positions * ((s.w.positions + rows - 1) / rows) *
         ((s.columns + columns - 1) / columns);
}

template <int kRows, int kColumns, bool kLeft, bool kRight>
BLOCK_NOINLINE_FN int taps_by(const Call& call, const Frame& f, int first_thread) {
  const Taps s = taps_of(call, f);
  const int columns = (s.columns + kColumns - 1) / kColumns, items = tap_tiles(s, kRows, kColumns);
  const int along = (s.w.positions + kRows - 1) / kRows;
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < items; i += kThreads) {
      const int column = i % columns, rest = i / columns, group = rest % s.groups, tile = rest / s.groups;
      tap_tile<kRows, kColumns, kLeft, kRight>(s, tile / along, tile % along * kRows, group, column * kColumns);
    }
  }
  return used(items);
}

template <bool kLeft>
BLOCK_FN int taps_of_fours(const Taps& s, const Call& call, const Frame& f, int first_thread) {
  const int four = estimated_cost(tap_tiles(s, 4, 4), 4, 4, 36), two = estimated_cost(tap_tiles(s, 2, 4), 2, 4, 36);
  const int one = estimated_cost(tap_tiles(s, 1, 4), 1, 4, 36);
  if constexpr (kLeft) {
    const int eight = estimated_cost(tap_tiles(s, 8, 4), 8, 4, 72);
    if (eight <= four && eight <= two && eight <= one) return taps_by<8, 4, true, true>(call, f, first_thread);
  }
  if (four <= two && four <= one) return taps_by<4, 4, kLeft, true>(call, f, first_thread);
  return two <= one ? taps_by<2, 4, kLeft, true>(call, f, first_thread)
                    : taps_by<1, 4, kLeft, true>(call, f, first_thread);
}

/// at: source, weights, bias, target.
BLOCK_OP int op_taps(const Call& call, const Frame& f, int first_thread) {
  const Taps s = taps_of(call, f);
  const bool left = s.k % 4 == 0 && s.source_c % 4 == 0 && whole(s.source);
  const bool right =
      s.columns % 4 == 0 && s.weight_k % 4 == 0 && s.weight_tap % 4 == 0 && s.weight_group % 4 == 0 && whole(s.weights);
  if (right && left) return taps_of_fours<true>(s, call, f, first_thread);
  if (right) return taps_of_fours<false>(s, call, f, first_thread);
  return taps_by<2, 1, false, false>(call, f, first_thread);
}

}  // namespace
}  // namespace lanista::device::block
