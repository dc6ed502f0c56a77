#pragma once
// Weight gradients of convolutions: few outputs, each a sum over all positions of a batch, in order.
#include "lanista/exec/backends/cuda_blocks/device/taps.inc.h"

namespace lanista::device::block {
namespace {

/// Sets [low, high) to the positions o with 0 <= o * stride - pad + tap * dilation < length.
BLOCK_FN void seen_positions(const TapAxis& axis, int tap, int& low, int& high) {
  const int shift = axis.pad - tap * axis.dilation;
  low = shift <= 0 ? 0 : (shift + axis.stride - 1) / axis.stride;
  const int end = axis.length + shift;
  high = end <= 0 ? 0 : smaller(axis.positions, (end + axis.stride - 1) / axis.stride);
  low = smaller(low, high);
}

/// Calls row(x, y, count) for the runs of neighbours that a tap reads, in order, of samples begin to end. x and y are
/// the first pixels in the source and in the gradient, over all samples.
template <class Row>
BLOCK_FN void each_row_seen(const Taps& s, int tap, int begin, int end, const Row& row) {
  int low_h, high_h, low_w, high_w;
  const int th = tap / s.w.taps, tw = tap % s.w.taps;
  seen_positions(s.h, th, low_h, high_h);
  seen_positions(s.w, tw, low_w, high_w);
  BLOCK_UNROLL_BY(1)
  for (int n = begin; n < end; ++n) {
    BLOCK_UNROLL_BY(1)
    for (int oh = low_h; oh < high_h; ++oh) {
      const int sh = oh * s.h.stride - s.h.pad + th * s.h.dilation;
      const int sw = low_w * s.w.stride - s.w.pad + tw * s.w.dilation;
      row((n * s.h.length + sh) * s.w.length + sw, (n * s.h.positions + oh) * s.w.positions + low_w, high_w - low_w);
    }
  }
}

/// Outputs are (tap, input channel) rows and output channels; the sum runs over n, oh, ow. The rows of a tile belong to
/// one tap.
template <int kRows, int kColumns>
BLOCK_FN void weight_tile(const Taps& s, Reals dy, Reals to, int tap, int row, int group, int column, int begin,
                          int end) {
  float sum[kRows][kColumns];
  BLOCK_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    BLOCK_UNROLL(4)
    for (int j = 0; j < kColumns; ++j) sum[r][j] = begin == 0 ? 0.0F : to[r * s.target_c + j];
  }
  const int x_step = s.w.stride * s.source_c;
  each_row_seen(s, tap, begin, end, [&](int x, int y, int count) {
    const Reals from = s.source + (x * s.source_c + group * s.k + row);
    const Reals gradient = dy + (y * s.target_c + group * s.columns + column);
    // In fours, so that the rest of a row does not wait for its elements one by one.
    BLOCK_UNROLL_BY(2)
    for (int i = 0; i < count; i += 4) {
      Four left[4], right[4];
      BLOCK_UNROLL(4)
      for (int q = 0; q < 4; ++q) {
        const int at = smaller(i + q, count - 1);
        if (kRows == 4) {
          left[q] = load4(from, at * x_step);
        } else {
          BLOCK_UNROLL(4)
          for (int r = 0; r < kRows; ++r) left[q].v[r] = from[at * x_step + r];
        }
        if (kColumns == 4) {
          right[q] = load4(gradient, at * s.target_c);
        } else {
          BLOCK_UNROLL(4)
          for (int j = 0; j < kColumns; ++j) right[q].v[j] = gradient[at * s.target_c + j];
        }
      }
      BLOCK_UNROLL(4)
      for (int q = 0; q < 4; ++q) {
        if (i + q >= count) continue;
        BLOCK_UNROLL(4)
        for (int r = 0; r < kRows; ++r) {
          BLOCK_UNROLL(4)
          for (int j = 0; j < kColumns; ++j) sum[r][j] = madd(left[q].v[r], right[q].v[j], sum[r][j]);
        }
      }
    }
  });
  BLOCK_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    BLOCK_UNROLL(4)
    for (int j = 0; j < kColumns; ++j) to[r * s.target_c + j] = sum[r][j];
  }
}

/// Operands of three adjacent taps: gradients of four neighbours in a row, and the six source pixels around them.
template <int kRows>
struct Window {
  Column<kRows> left[6];
  Four right[4];
};

/// Windows of a row of taps, sample by sample and row by row. With `kSame`, the image is as wide as its gradient, which
/// is a multiple of four, and padded by one. Strides and dilations are 1.
template <int kRows, bool kSame>
struct Windows {
  Reals source, gradient;  // first pixels of the first sample
  int c, target_c, length, positions, pad;
  int x_sample, y_sample, x_first, y_first;  // words of a sample; offset of the first row that taps read
  int rows, sample, row, w;                  // rows that taps read; position of the next window

  BLOCK_METHOD Window<kRows> take() {
    const Reals x = source + (sample * x_sample + x_first + (row * length + w) * c);
    const Reals y = gradient + (sample * y_sample + y_first + (row * positions + w) * target_c);
    Window<kRows> window = {};
    BLOCK_UNROLL(6)
    for (int q = 0; q < 6; ++q) {
      if (sees(w, q)) window.left[q] = column_at<kRows>(x, (q - pad_of()) * c);
    }
    BLOCK_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      if (kSame || w + i < positions) window.right[i] = load4(y, i * target_c);
    }
    w += 4;
    if (w >= positions) {
      w = 0;
      ++row;
    }
    if (row == rows) {
      row = 0;
      ++sample;
    }
    return window;
  }
  BLOCK_METHOD int pad_of() const { return kSame ? 1 : pad; }
  /// Returns true if the q-th pixel around the window at w is inside the source.
  BLOCK_METHOD bool sees(int at, int q) const {
    if (kSame) return q == 0 ? at > 0 : q < 5 || at + 4 < positions;
    return at + q - pad >= 0 && at + q - pad < length;
  }
  BLOCK_METHOD void add(const Window<kRows>& window, int at, float (&sum)[3][kRows][4]) const {
    BLOCK_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      BLOCK_UNROLL(3)
      for (int tap = 0; tap < 3; ++tap) {
        if (!sees(at, i + tap) || !(kSame || at + i < positions)) continue;
        BLOCK_UNROLL(4)
        for (int r = 0; r < kRows; ++r) {
          BLOCK_UNROLL(4)
          for (int j = 0; j < 4; ++j) {
            sum[tap][r][j] = madd(window.left[i + tap].v[r], window.right[i].v[j], sum[tap][r][j]);
          }
        }
      }
    }
  }
};

/// Outputs of three taps, a few input channels and four output channels. Neighbouring taps read the same source values.
/// A window is loaded while the last one is multiplied.
template <int kRows, bool kSame>
BLOCK_FN void weight_windows(const Taps& s, Reals dy, Reals dw, int th, int row, int group, int column, int begin,
                             int end) {
  const Reals to = dw + ((th * 3 * s.k + row) * s.target_c + group * s.columns + column);
  const int next_tap = s.k * s.target_c;
  float sum[3][kRows][4];
  BLOCK_UNROLL(3)
  for (int tap = 0; tap < 3; ++tap) {
    BLOCK_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      Four begun = {};
      if (begin != 0) begun = load4(to, tap * next_tap + r * s.target_c);
      BLOCK_UNROLL(4)
      for (int j = 0; j < 4; ++j) sum[tap][r][j] = begun.v[j];
    }
  }
  int low, high;
  seen_positions(s.h, th, low, high);
  Windows<kRows, kSame> windows;
  windows.source = s.source + (group * s.k + row);
  windows.gradient = dy + (group * s.columns + column);
  windows.c = s.source_c;
  windows.target_c = s.target_c;
  windows.length = s.w.length;
  windows.positions = s.w.positions;
  windows.pad = s.w.pad;
  windows.x_sample = s.h.length * s.w.length * s.source_c;
  windows.y_sample = s.h.positions * s.w.positions * s.target_c;
  windows.x_first = (low - s.h.pad + th) * s.w.length * s.source_c;
  windows.y_first = low * s.w.positions * s.target_c;
  windows.rows = high - low;
  windows.sample = begin;
  windows.row = windows.w = 0;
  const int count = low < high ? (end - begin) * (high - low) * ((s.w.positions + 3) / 4) : 0;
  // Large tiles with enough other warps use the registers for sums instead.
  if (kRows == 4) {
    BLOCK_UNROLL_BY(1)
    for (int i = 0; i < count; ++i) {
      const int at = windows.w;
      windows.add(windows.take(), at, sum);
    }
  } else if (count > 0) {
    int at = 0;
    Window<kRows> now = windows.take();
    BLOCK_UNROLL_BY(2)
    for (int i = 1; i < count; ++i) {
      const int next_at = windows.w;
      const Window<kRows> next = windows.take();
      windows.add(now, at, sum);
      now = next;
      at = next_at;
    }
    windows.add(now, at, sum);
  }
  BLOCK_UNROLL(3)
  for (int tap = 0; tap < 3; ++tap) {
    BLOCK_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      const Four done = {{sum[tap][r][0], sum[tap][r][1], sum[tap][r][2], sum[tap][r][3]}};
      store4(to, tap * next_tap + r * s.target_c, done);
    }
  }
}

/// Returns the number of words of a sample in both images.
BLOCK_FN int sample_words(const Taps& s) {
  return s.h.length * s.w.length * s.source_c + s.h.positions * s.w.positions * s.target_c;
}

/// Returns the number of samples that fit into the first cache together with the next ones.
BLOCK_FN int samples_at_once(const Taps& s) {
  const int words = sample_words(s);
  return s.samples * words <= 32768 ? s.samples : larger(1, 16384 / words);
}

BLOCK_FN void prefetch_samples(const Taps& s, Reals dy, int begin, int some, int items) {
  const int x = s.h.length * s.w.length * s.source_c, y = s.h.positions * s.w.positions * s.target_c;
  prefetch(s.source + begin * x, some * x, items);
  prefetch(dy + begin * y, some * y, items);
}

/// Tiles as in_chunks needs them: tile(i, begin, end) continues tile i. If at[2] has sums, it also computes the bias
/// gradient: a plain sum of each channel of dy.
template <class Tile>
BLOCK_FN void weights_in_chunks(const Taps& s, const Call& call, const Frame& f, Reals dy, int tiles,
                                const Tile& tile) {
  const bool has_sums = call.at[2] != kNowhere;
  const Reals sums = has_sums ? place(f, call.at[2]) : dy;
  const int items = tiles + (has_sums ? s.target_c : 0), positions = s.h.positions * s.w.positions;
  in_chunks(
      s.samples, samples_at_once(s), items,
      [&](int begin, int some, int busy) { prefetch_samples(s, dy, begin, some, busy); },
      [&](int i, int begin, int end) {
        if (i < tiles) return tile(i, begin, end);
        const int c = i - tiles;
        sums[c] = column_sum(begin == 0 ? 0.0F : sums[c], dy, begin * positions, end * positions, s.target_c, c);
      });
}

template <int kRows, int kColumns>
BLOCK_NOINLINE_FN void weights_by(const Call& call, const Frame& f) {
  const Taps s = taps_of(call, f);
  const Reals dy = place(f, call.at[1]), dw = place(f, call.at[3]);
  const int rows = s.k / kRows, columns = s.columns / kColumns;
  weights_in_chunks(s, call, f, dy, s.h.taps * s.w.taps * s.groups * rows * columns, [&](int i, int begin, int end) {
    const int column = i % columns, rest = i / columns, row = rest % rows, other = rest / rows;
    const int tap = other / s.groups, group = other % s.groups;
    const Reals to = dw + ((tap * s.k + row * kRows) * s.target_c + group * s.columns + column * kColumns);
    weight_tile<kRows, kColumns>(s, dy, to, tap, row * kRows, group, column * kColumns, begin, end);
  });
}

template <int kRows, bool kSame>
BLOCK_NOINLINE_FN void weights_by_windows(const Call& call, const Frame& f) {
  const Taps s = taps_of(call, f);
  const Reals dy = place(f, call.at[1]), dw = place(f, call.at[3]);
  const int rows = s.k / kRows, columns = s.columns / 4;
  weights_in_chunks(s, call, f, dy, s.h.taps * s.groups * rows * columns, [&](int i, int begin, int end) {
    const int column = i % columns, rest = i / columns, row = rest % rows, other = rest / rows;
    weight_windows<kRows, kSame>(s, dy, dw, other / s.groups, row * kRows, other % s.groups, column * 4, begin, end);
  });
}

/// Estimated cycles per term by windows: multiplications of three taps and reads of few warps, which cannot hide
/// latency, or the throughput of the first cache.
BLOCK_FN int spent_on_windows(int outputs, int rows) {
  const int items = outputs / (12 * rows), warps = (items + 31) / 32,
            of_block = (warps + cluster_size() - 1) / cluster_size();
  return larger((of_block + 3) / 4 * (12 * rows + 12), of_block * (rows * 3 / 2 + 4));
}

template <bool kSame>
BLOCK_FN void weights_of_threes(const Taps& s, int outputs, bool aligned, const Call& call, const Frame& f) {
  const int many = 1 << 30, one = spent_on_windows(outputs, 1);
  const int four = aligned && s.k % 4 == 0 && s.source_c % 4 == 0 ? spent_on_windows(outputs, 4) : many;
  const int two = aligned && s.k % 2 == 0 && s.source_c % 2 == 0 ? spent_on_windows(outputs, 2) : many;
  if (four <= two && four <= one) {
    weights_by_windows<4, kSame>(call, f);
  } else if (two <= one) {
    weights_by_windows<2, kSame>(call, f);
  } else {
    weights_by_windows<1, kSame>(call, f);
  }
}

/// at: x, dy, sums of dy by channel (or none), dw.
BLOCK_OP int op_tap_weights(const Call& call, const Frame& f) {
  const Taps s = taps_of(call, f);
  const Reals dy = place(f, call.at[1]), dw = place(f, call.at[3]);
  const int outputs = s.h.taps * s.w.taps * s.groups * s.k * s.columns;
  const bool left = s.k % 4 == 0 && s.source_c % 4 == 0 && whole(s.source);
  const bool right = s.columns % 4 == 0 && s.target_c % 4 == 0 && whole(dy);
  const bool plain = s.h.stride == 1 && s.w.stride == 1 && s.h.dilation == 1 && s.w.dilation == 1;
  if (right && plain && s.w.taps == 3 && whole(dw)) {
    const bool same = s.w.pad == 1 && s.w.length == s.w.positions && s.w.positions % 4 == 0;
    if (same) {
      weights_of_threes<true>(s, outputs, whole(s.source), call, f);
    } else {
      weights_of_threes<false>(s, outputs, whole(s.source), call, f);
    }
    return 0;
  }
  const int many = 1 << 30;
  const int four = left && right ? estimated_cost(outputs / 16, 4, 4, 8) : many;
  const int two = right && s.k % 2 == 0 ? estimated_cost(outputs / 8, 2, 4, 8) : many;
  const int one = right ? estimated_cost(outputs / 4, 1, 4, 8) : many, single = estimated_cost(outputs, 1, 1, 8);
  if (four <= two && four <= one && four <= single) {
    weights_by<4, 4>(call, f);
  } else if (two <= one && two <= single) {
    weights_by<2, 4>(call, f);
  } else if (one <= single) {
    weights_by<1, 4>(call, f);
  } else {
    weights_by<1, 1>(call, f);
  }
  return 0;
}

}  // namespace
}  // namespace lanista::device::block
