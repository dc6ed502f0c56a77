#pragma once
// Convolutions: sums over taps, ascending kh, kw and channel. Taps outside an image are skipped, not multiplied by zero.
#include "lanista/device/block/dense.inc.h"

namespace lanista::device::block {
namespace {

/// One axis. Forward: an output position o meets source o * stride - pad + tap * dilation. Backward: an input position i
/// meets output (i + pad - tap * dilation) / stride where that is whole.
struct TapAxis {
  int positions, length, taps, stride, pad, dilation;
  bool backward;

  BLOCK_METHOD int meets(int position, int tap) const {  // the source, or -1
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
  s.wide_target = false;
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
  // Backward, weights lie transposed: [tap][co][ci / groups].
  s.weight_k = backward ? s.columns : co;
  s.weight_group = backward ? s.k * s.columns : s.columns;
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
  int last[kColumns];  // columns that are not there read as the last one
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
        BLOCK_UNROLL_BY(2)
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
BLOCK_FORM int taps_by(const Taps& s, int turn) {
  const int columns = (s.columns + kColumns - 1) / kColumns, items = tap_tiles(s, kRows, kColumns);
  const int along = (s.w.positions + kRows - 1) / kRows;
  PHASE(t)
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < items; i += kThreads) {
      const int column = i % columns, rest = i / columns, group = rest % s.groups, tile = rest / s.groups;
      tap_tile<kRows, kColumns, kLeft, kRight>(s, tile / along, tile % along * kRows, group, column * kColumns);
    }
  END
  return used(items);
}

/// What a thread spends if so many items of that size are shared out: the largest share counts.
BLOCK_FN int spent(int items, int outputs, int fringe) { return (items + kThreads - 1) / kThreads * (outputs + fringe); }

template <bool kLeft>
BLOCK_FN int taps_of_fours(const Taps& s, int turn) {
  const int four = spent(tap_tiles(s, 4, 4), 16, 8), two = spent(tap_tiles(s, 2, 4), 8, 6);
  const int one = spent(tap_tiles(s, 1, 4), 4, 5);
  if (four <= two && four <= one) return taps_by<4, 4, kLeft, true>(s, turn);
  return two <= one ? taps_by<2, 4, kLeft, true>(s, turn) : taps_by<1, 4, kLeft, true>(s, turn);
}

/// at: source, weights, bias, target.
BLOCK_OP int op_taps(const Call& call, const Frame& f, int turn) {
  Taps s = taps_of(call, f);
  const bool left = s.k % 4 == 0 && s.source_c % 4 == 0 && whole(s.source);
  const bool right = s.columns % 4 == 0 && s.weight_k % 4 == 0 && s.weight_tap % 4 == 0 && s.weight_group % 4 == 0 &&
                     whole(s.weights);
  s.wide_target = s.target_c % 4 == 0 && whole(s.target) && whole(s.finish.saved);
  if (right && left) return taps_of_fours<true>(s, turn);
  if (right) return taps_of_fours<false>(s, turn);
  return taps_by<2, 1, false, false>(s, turn);
}

/// Positions o with 0 <= o * stride - pad + tap * dilation < length.
BLOCK_FN void seen_positions(const TapAxis& axis, int tap, int& low, int& high) {
  const int shift = axis.pad - tap * axis.dilation;
  low = shift <= 0 ? 0 : (shift + axis.stride - 1) / axis.stride;
  const int room = axis.length + shift;
  high = room <= 0 ? 0 : smaller(axis.positions, (room + axis.stride - 1) / axis.stride);
  low = smaller(low, high);
}

/// Outputs are (tap, input channel) rows and output channels; the sum runs over n, oh, ow. Rows of a tile are of one tap.
template <int kRows, int kColumns>
BLOCK_FN void weight_tile(const Taps& s, Reals dy, Reals to, int tap, int row, int group, int column, int begin,
                          int end) {
  int low_h, high_h, low_w, high_w;
  const int th = tap / s.w.taps, tw = tap % s.w.taps;
  seen_positions(s.h, th, low_h, high_h);
  seen_positions(s.w, tw, low_w, high_w);
  float sum[kRows][kColumns];
  BLOCK_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    BLOCK_UNROLL(4)
    for (int j = 0; j < kColumns; ++j) sum[r][j] = begin == 0 ? 0.0F : to[r * s.target_c + j];
  }
  const int count = high_w - low_w, x_step = s.w.stride * s.source_c;
  BLOCK_UNROLL_BY(1)
  for (int n = begin; n < end; ++n) {
    BLOCK_UNROLL_BY(1)
    for (int oh = low_h; oh < high_h; ++oh) {
      const int sh = oh * s.h.stride - s.h.pad + th * s.h.dilation;
      const int sw = low_w * s.w.stride - s.w.pad + tw * s.w.dilation;
      const Reals from = s.source + (((n * s.h.length + sh) * s.w.length + sw) * s.source_c + group * s.k + row);
      const Reals gradient =
          dy + (((n * s.h.positions + oh) * s.w.positions + low_w) * s.target_c + group * s.columns + column);
      BLOCK_UNROLL_BY(8)
      for (int i = 0; i < count; ++i) {
        Four left, right;
        if (kRows == 4) {
          left = load4(from, i * x_step);
        } else {
          BLOCK_UNROLL(4)
          for (int r = 0; r < kRows; ++r) left.v[r] = from[i * x_step + r];
        }
        if (kColumns == 4) {
          right = load4(gradient, i * s.target_c);
        } else {
          BLOCK_UNROLL(4)
          for (int j = 0; j < kColumns; ++j) right.v[j] = gradient[i * s.target_c + j];
        }
        BLOCK_UNROLL(4)
        for (int r = 0; r < kRows; ++r) {
          BLOCK_UNROLL(4)
          for (int j = 0; j < kColumns; ++j) sum[r][j] = madd(left.v[r], right.v[j], sum[r][j]);
        }
      }
    }
  }
  BLOCK_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    BLOCK_UNROLL(4)
    for (int j = 0; j < kColumns; ++j) to[r * s.target_c + j] = sum[r][j];
  }
}

/// Words of a sample in both images.
BLOCK_FN int sample_words(const Taps& s) {
  return s.h.length * s.w.length * s.source_c + s.h.positions * s.w.positions * s.target_c;
}

/// Samples whose images are in the first cache together with those of the next ones.
BLOCK_FN int samples_at_once(const Taps& s) { return larger(1, 16384 / sample_words(s)); }

BLOCK_FN void warm_samples(const Taps& s, Reals dy, int begin, int some, int items) {
  const int x = s.h.length * s.w.length * s.source_c, y = s.h.positions * s.w.positions * s.target_c;
  warm(s.source + begin * x, some * x, items);
  warm(dy + begin * y, some * y, items);
}

/// With `sums`, the bias gradient too: a plain sum of each channel of dy.
template <int kRows, int kColumns>
BLOCK_FORM void weights_by(const Taps& s, Reals dy, Reals dw, bool has_sums, Reals sums) {
  const int rows = s.k / kRows, columns = s.columns / kColumns;
  const int tiles = s.h.taps * s.w.taps * s.groups * rows * columns, items = tiles + (has_sums ? s.target_c : 0);
  const int positions = s.h.positions * s.w.positions;
  in_chunks(
      s.samples, samples_at_once(s), items,
      [&](int begin, int some, int busy) { warm_samples(s, dy, begin, some, busy); },
      [&](int i, int begin, int end) {
        if (i >= tiles) {
          const int c = i - tiles;
          sums[c] = column_sum(begin == 0 ? 0.0F : sums[c], dy, begin * positions, end * positions, s.target_c, c);
          return;
        }
        const int column = i % columns, rest = i / columns, row = rest % rows, other = rest / rows;
        const int tap = other / s.groups, group = other % s.groups;
        const Reals to =
            dw + ((tap * s.k + row * kRows) * s.target_c + group * s.columns + column * kColumns);
        weight_tile<kRows, kColumns>(s, dy, to, tap, row * kRows, group, column * kColumns, begin, end);
      });
}

/// at: x, dy, sums of dy by channel (or none), dw.
BLOCK_OP int op_tap_weights(const Call& call, const Frame& f) {
  const Taps s = taps_of(call, f);
  const Reals dy = place(f, call.at[1]), dw = place(f, call.at[3]);
  const bool summed = call.at[2] != kNowhere;
  const Reals sums = summed ? place(f, call.at[2]) : dw;
  const int outputs = s.h.taps * s.w.taps * s.groups * s.k * s.columns;
  const bool left = s.k % 4 == 0 && s.source_c % 4 == 0 && whole(s.source);
  const bool right = s.columns % 4 == 0 && s.target_c % 4 == 0 && whole(dy);
  const int many = 1 << 30;
  const int four = left && right ? spent(outputs / 16, 16, 6) : many;
  const int two = right && s.k % 2 == 0 ? spent(outputs / 8, 8, 6) : many;
  const int one = right ? spent(outputs / 4, 4, 5) : many, single = spent(outputs, 1, 4);
  if (four <= two && four <= one && four <= single) {
    weights_by<4, 4>(s, dy, dw, summed, sums);
  } else if (two <= one && two <= single) {
    weights_by<2, 4>(s, dy, dw, summed, sums);
  } else if (one <= single) {
    weights_by<1, 4>(s, dy, dw, summed, sums);
  } else {
    weights_by<1, 1>(s, dy, dw, summed, sums);
  }
  return 0;
}

/// The sums of a position's channels from `channel` on, one or four of them.
template <int kChannels>
BLOCK_FN Four depthwise_at(const Taps& s, int position, int channel) {
  const int c = s.source_c, line = position / s.w.positions;
  const int w = position % s.w.positions, h = line % s.h.positions, image = line / s.h.positions * s.h.length;
  Four sum = {};
  BLOCK_UNROLL_BY(1)
  for (int th = 0; th < s.h.taps; ++th) {
    const int sh = s.h.meets(h, th);
    if (sh < 0) continue;
    BLOCK_UNROLL_BY(1)
    for (int tw = 0; tw < s.w.taps; ++tw) {
      const int sw = s.w.meets(w, tw);
      if (sw < 0) continue;
      const int from = ((image + sh) * s.w.length + sw) * c + channel, tap = (th * s.w.taps + tw) * c + channel;
      if (kChannels == 4) {
        const Four x = load4(s.source, from), weight = load4(s.weights, tap);
        BLOCK_UNROLL(4)
        for (int j = 0; j < 4; ++j) sum.v[j] = madd(x.v[j], weight.v[j], sum.v[j]);
      } else {
        sum.v[0] = madd(s.source[from], s.weights[tap], sum.v[0]);
      }
    }
  }
  BLOCK_UNROLL(4)
  for (int j = 0; j < kChannels; ++j) {
    if (s.biased) sum.v[j] = sum.v[j] + s.bias[channel + j];
    if (s.relu) sum.v[j] = relu_of(sum.v[j]);
  }
  return sum;
}

/// A channel is a group of its own: channels side by side in threads. at: source, weights, bias, target.
BLOCK_OP int op_depthwise(const Call& call, const Frame& f, int turn) {
  const Taps s = taps_of(call, f);
  const int c = s.source_c, all = s.samples * s.h.positions * s.w.positions * c;
  if (c % 4 == 0 && whole(s.source) && whole(s.weights) && whole(s.target) && whole(s.finish.saved)) {
    const int fours = c / 4;
    return each_four(all / 4, s.target, turn, [&](int i) {
      return s.finish.four_at(4 * i, depthwise_at<4>(s, i / fours, i % fours * 4));
    });
  }
  return each_alone(all, s.target, turn, [&](int i) { return s.finish.at(i, depthwise_at<1>(s, i / c, i % c).v[0]); });
}

/// at: x, dy, none, dw.
BLOCK_OP int op_depthwise_weights(const Call& call, const Frame& f) {
  const Taps s = taps_of(call, f);
  const Reals dy = place(f, call.at[1]), dw = place(f, call.at[3]);
  const int c = s.source_c;
  in_chunks(
      s.samples, samples_at_once(s), s.h.taps * s.w.taps * c,
      [&](int begin, int some, int busy) { warm_samples(s, dy, begin, some, busy); },
      [&](int i, int begin, int end) {
        const int channel = i % c, tap = i / c, th = tap / s.w.taps, tw = tap % s.w.taps;
        int low_h, high_h, low_w, high_w;
        seen_positions(s.h, th, low_h, high_h);
        seen_positions(s.w, tw, low_w, high_w);
        const int count = high_w - low_w, x_step = s.w.stride * c;
        float sum = begin == 0 ? 0.0F : dw[i];
        BLOCK_UNROLL_BY(1)
        for (int n = begin; n < end; ++n) {
          BLOCK_UNROLL_BY(1)
          for (int oh = low_h; oh < high_h; ++oh) {
            const int sh = oh * s.h.stride - s.h.pad + th * s.h.dilation;
            const int sw = low_w * s.w.stride - s.w.pad + tw * s.w.dilation;
            const int from = ((n * s.h.length + sh) * s.w.length + sw) * c + channel;
            const int gradient = ((n * s.h.positions + oh) * s.w.positions + low_w) * c + channel;
            BLOCK_UNROLL_BY(8)
            for (int k = 0; k < count; ++k) sum = madd(s.source[from + k * x_step], dy[gradient + k * c], sum);
          }
        }
        dw[i] = sum;
      });
  return 0;
}

}  // namespace
}  // namespace lanista::device::block
