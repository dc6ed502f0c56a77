#pragma once
// Weight gradient of a convolution. Rows of a tile are (tap, input channel) pairs; columns are output channels. The sum
// runs over n, oh, ow in ascending order. A row skips the positions where its tap is outside the image.

#include "lanista/exec/kernels/family/conv.inc.h"
#include "lanista/exec/kernels/family/conv_axis.inc.h"
#include "lanista/exec/kernels/family/dense.inc.h"
#include "lanista/exec/kernels/family/tile.inc.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

/// Source offset and output positions of every row of a tile.
struct WeightGradRows {
  i64 offset[kMaxTileRows];  // of the source element at n = oh = ow = 0; may be negative
  i64 low_h[kMaxTileRows], high_h[kMaxTileRows], low_w[kMaxTileRows], high_w[kMaxTileRows];
};

template <class T>
struct WeightGradSum {
  i64 n, oh, ow;
  i64 x_n, x_oh, x_ow;     // source steps per sample and per output position
  i64 dy_n, dy_oh, dy_ow;  // likewise
  const T* x;
  const T* dy;  // at the tile's first column
};

template <class T, int kRows, int kColumns, bool kPart>
void mixed_tile(const WeightGradSum<T>& s, const WeightGradRows& rows, T* const* dw, i64 part) {
  using S = Wide<T>;
  using V = typename S::V;
  constexpr i64 kW = S::kWidth;
  const auto load = [part](const T* p, int j) {
    return kPart && j == kColumns - 1 ? S::load_part(p + j * kW, part) : S::load(p + j * kW);
  };
  const T* row[kRows];
  V acc[kRows][kColumns];
  // Positions of every row, and those of any row.
  i64 low_h = 0, high_h = s.oh, low_w = 0, high_w = s.ow;
  i64 any_low_h = s.oh, any_high_h = 0, any_low_w = s.ow, any_high_w = 0;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    // Computed as an integer: the address at position 0 may be before the array, where nothing is read.
    row[r] = reinterpret_cast<const T*>(reinterpret_cast<std::uintptr_t>(s.x) +
                                        static_cast<std::uintptr_t>(rows.offset[r]) * sizeof(T));
    low_h = larger(low_h, rows.low_h[r]);
    high_h = smaller(high_h, rows.high_h[r]);
    low_w = larger(low_w, rows.low_w[r]);
    high_w = smaller(high_w, rows.high_w[r]);
    any_low_h = smaller(any_low_h, rows.low_h[r]);
    any_high_h = larger(any_high_h, rows.high_h[r]);
    any_low_w = smaller(any_low_w, rows.low_w[r]);
    any_high_w = larger(any_high_w, rows.high_w[r]);
#pragma GCC unroll 2
    for (int j = 0; j < kColumns; ++j) acc[r][j] = load(dw[r], j);
  }
  low_w = smaller(low_w, any_high_w);
  high_w = larger(high_w, low_w);
  for (i64 n = 0; n < s.n; ++n) {
    for (i64 oh = any_low_h; oh < any_high_h; ++oh) {
      const bool all_rows = oh >= low_h && oh < high_h;
      const i64 full_begin = all_rows ? low_w : any_high_w;
      const i64 full_end = all_rows ? high_w : any_high_w;
      const i64 x_start = n * s.x_n + oh * s.x_oh;
      const T* dy_start = s.dy + n * s.dy_n + oh * s.dy_oh;
      i64 at = x_start + any_low_w * s.x_ow;
      const T* dy = dy_start + any_low_w * s.dy_ow;
      for (i64 ow = any_low_w; ow < any_high_w;) {
        if (ow == full_begin) {
          for (; ow < full_end; ++ow, at += s.x_ow, dy += s.dy_ow) {
            V column[kColumns];
#pragma GCC unroll 2
            for (int j = 0; j < kColumns; ++j) column[j] = load(dy, j);
#pragma GCC unroll 8
            for (int r = 0; r < kRows; ++r) {
              const V left = S::set(row[r][at]);
#pragma GCC unroll 2
              for (int j = 0; j < kColumns; ++j) acc[r][j] = S::madd(left, column[j], acc[r][j]);
            }
          }
          if (ow >= any_high_w) break;
        }
        V column[kColumns];
#pragma GCC unroll 2
        for (int j = 0; j < kColumns; ++j) column[j] = load(dy, j);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          if ((all_rows || (oh >= rows.low_h[r] && oh < rows.high_h[r])) && ow >= rows.low_w[r] &&
              ow < rows.high_w[r]) {
            const V left = S::set(row[r][at]);
#pragma GCC unroll 2
            for (int j = 0; j < kColumns; ++j) acc[r][j] = S::madd(left, column[j], acc[r][j]);
          }
        }
        ++ow;
        at += s.x_ow;
        dy += s.dy_ow;
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < kColumns; ++j) {
      if (kPart && j == kColumns - 1) {
        S::store_part(dw[r] + j * kW, acc[r][j], part);
      } else {
        S::store(dw[r] + j * kW, acc[r][j]);
      }
    }
  }
}

template <class T>
using MixedTileFunction = void (*)(const WeightGradSum<T>&, const WeightGradRows&, T* const*, i64);

template <class T, int kRows>
struct MixedForms {
  static constexpr MixedTileFunction<T> kForms[4] = {mixed_tile<T, kRows, 1, false>, mixed_tile<T, kRows, 1, true>,
                                                     mixed_tile<T, kRows, 2, false>, mixed_tile<T, kRows, 2, true>};
};

template <class T, int... kRows>
inline MixedTileFunction<T> mixed_function(i64 rows, int form, std::integer_sequence<int, kRows...>) {
  static constexpr const MixedTileFunction<T>* kByRows[] = {MixedForms<T, kRows + 1>::kForms...};
  return kByRows[rows - 1][form];
}

/// Output positions of one tap, and the source element of the first one at sample 0.
struct TapRange {
  i64 low_h, high_h, low_w, high_w;
  i64 at;
};

/// Neighbouring channels of one tap. Their source elements are neighbours, and they have the same positions.
template <class T, int kRows, int kColumns, bool kPart>
void tap_tile(const WeightGradSum<T>& s, const TapRange& span, T* dw, i64 dw_row, i64 part) {
  using S = Wide<T>;
  using V = typename S::V;
  constexpr i64 kW = S::kWidth;
  const auto load = [part](const T* p, int j) {
    return kPart && j == kColumns - 1 ? S::load_part(p + j * kW, part) : S::load(p + j * kW);
  };
  V acc[kRows][kColumns];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < kColumns; ++j) acc[r][j] = load(dw + r * dw_row, j);
  }
  const i64 x_ow = s.x_ow, dy_ow = s.dy_ow, run = span.high_w - span.low_w;
  for (i64 n = 0; n < s.n; ++n) {
    const T* x_row = s.x + (span.at + n * s.x_n);
    const T* dy_row = s.dy + n * s.dy_n + span.low_h * s.dy_oh + span.low_w * dy_ow;
    for (i64 oh = span.low_h; oh < span.high_h; ++oh, x_row += s.x_oh, dy_row += s.dy_oh) {
      const T* x = x_row;
      const T* dy = dy_row;
      for (i64 left_over = run; left_over > 0; --left_over, x += x_ow, dy += dy_ow) {
        V column[kColumns];
#pragma GCC unroll 2
        for (int j = 0; j < kColumns; ++j) column[j] = load(dy, j);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          const V left = S::set(x[r]);
#pragma GCC unroll 2
          for (int j = 0; j < kColumns; ++j) acc[r][j] = S::madd(left, column[j], acc[r][j]);
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < kColumns; ++j) {
      if (kPart && j == kColumns - 1) {
        S::store_part(dw + r * dw_row + j * kW, acc[r][j], part);
      } else {
        S::store(dw + r * dw_row + j * kW, acc[r][j]);
      }
    }
  }
}

template <class T>
using TapTileFunction = void (*)(const WeightGradSum<T>&, const TapRange&, T*, i64, i64);

/// One vector of columns leaves registers for twice the rows.
template <class T, int kRows, bool kTwo>
struct TapForms {
  static constexpr TapTileFunction<T> kForms[2] = {tap_tile < T, kRows, kTwo ? 2 : 1, false >,
                                                   tap_tile<T, kRows, kTwo ? 2 : 1, true>};
};

template <class T, bool kTwo, int... kRows>
inline TapTileFunction<T> tap_function(i64 rows, bool part, std::integer_sequence<int, kRows...>) {
  static constexpr const TapTileFunction<T>* kByRows[] = {TapForms<T, kRows + 1, kTwo>::kForms...};
  return kByRows[rows - 1][part ? 1 : 0];
}
template <class T>
inline TapTileFunction<T> tap_function(i64 rows, bool two, bool part) {
  return two ? tap_function<T, true>(rows, part, std::make_integer_sequence<int, kMaxTileRows>())
             : tap_function<T, false>(rows, part, std::make_integer_sequence<int, 2 * kMaxTileRows>());
}

/// Output positions o with 0 <= o * stride - pad + tap * dilation < len.
inline void seen_positions(const ConvAxis& axis, i64 tap, i64& low, i64& high) {
  const i64 shift = axis.pad - tap * axis.dilation;
  low = shift <= 0 ? 0 : (shift + axis.stride - 1) / axis.stride;
  const i64 end = axis.source_len + shift;
  high = end <= 0 ? 0 : smaller(axis.positions, (end + axis.stride - 1) / axis.stride);
  low = smaller(low, high);
}

/// A part of the gradient's terms: n samples, output rows [oh_begin, oh_end) of one group.
template <class T>
struct WeightGradSlice {
  const ConvShape& s;
  i64 oh_begin, oh_end;
  WeightGradSum<T> sum;
  T* dw;

  WeightGradSlice(const ConvShape& shape, i64 n, i64 begin, i64 end, const T* x, const T* dy, T* target)
      : s(shape),
        oh_begin(begin),
        oh_end(end),
        sum{n,
            s.oh,
            s.ow,
            s.h * s.w * s.ci,
            s.stride_h * s.w * s.ci,
            s.stride_w * s.ci,
            s.oh * s.ow * s.co,
            s.ow * s.co,
            s.co,
            x,
            dy},
        dw(target) {}

  i64 channels() const { return s.ci / s.groups; }
  i64 columns() const { return s.co / s.groups; }
  /// Offset of a tap's source element at output (0, 0); it may be before the image.
  i64 offset(i64 th, i64 tw) const {
    return ((th * s.dilation_h - s.pad_h) * s.w + (tw * s.dilation_w - s.pad_w)) * s.ci;
  }
  void seen_rows(i64 th, i64& low, i64& high) const {
    seen_positions(forward_h(s), th, low, high);
    low = smaller(larger(low, oh_begin), oh_end);
    high = larger(smaller(high, oh_end), low);
  }
};

/// One tap, its input channels tile by tile.
template <class T>
inline void add_tap(const WeightGradSlice<T>& part, i64 th, i64 tw) {
  TapRange span;
  part.seen_rows(th, span.low_h, span.high_h);
  seen_positions(forward_w(part.s), tw, span.low_w, span.high_w);
  if (span.low_h >= span.high_h || span.low_w >= span.high_w) return;
  const i64 start = part.offset(th, tw) + span.low_h * part.sum.x_oh + span.low_w * part.sum.x_ow;
  T* dw = part.dw + (th * part.s.kw + tw) * part.channels() * part.s.co;
  WeightGradSum<T> sum = part.sum;
  for (i64 c = 0; c < part.columns(); c += ColumnBlock<T>::kMost, sum.dy += ColumnBlock<T>::kMost) {
    const ColumnBlock<T> block(smaller(part.columns() - c, ColumnBlock<T>::kMost));
    const bool two = block.form >= 2;
    for (i64 first = 0; first < part.channels();) {
      const i64 count = even_share(part.channels() - first, two ? kMaxTileRows : 2 * kMaxTileRows);
      span.at = start + first;
      tap_function<T>(count, two, block.form % 2 != 0)(sum, span, dw + first * part.s.co + c, part.s.co, block.part);
      first += count;
    }
  }
}

/// Few channels: a tile holds (tap, channel) pairs of several taps, because one tap would fill too little of it.
template <class T>
inline void add_mixed(const WeightGradSlice<T>& part) {
  const ConvShape& s = part.s;
  const i64 ci = part.channels(), all_rows = s.kh * s.kw * ci;
  for (i64 first = 0; first < all_rows;) {
    const i64 count = even_share(all_rows - first, kMaxTileRows);
    WeightGradRows rows;
    T* target[kMaxTileRows];
    for (i64 r = 0; r < count; ++r) {
      const i64 channel = (first + r) % ci, tap = (first + r) / ci;
      rows.offset[r] = part.offset(tap / s.kw, tap % s.kw) + channel;
      part.seen_rows(tap / s.kw, rows.low_h[r], rows.high_h[r]);
      seen_positions(forward_w(s), tap % s.kw, rows.low_w[r], rows.high_w[r]);
      target[r] = part.dw + (first + r) * s.co;
    }
    WeightGradSum<T> sum = part.sum;
    for (i64 c = 0; c < part.columns(); c += ColumnBlock<T>::kMost, sum.dy += ColumnBlock<T>::kMost) {
      const ColumnBlock<T> block(smaller(part.columns() - c, ColumnBlock<T>::kMost));
      mixed_function<T>(count, block.form, std::make_integer_sequence<int, kMaxTileRows>())(sum, rows, target,
                                                                                            block.part);
      for (i64 r = 0; r < count; ++r) target[r] += ColumnBlock<T>::kMost;
    }
    first += count;
  }
}

template <class T>
inline void add_part(const WeightGradSlice<T>& part) {
  if (part.channels() < 4) return add_mixed(part);
  for (i64 th = 0; th < part.s.kh; ++th) {
    for (i64 tw = 0; tw < part.s.kw; ++tw) add_tap(part, th, tw);
  }
}

/// Outputs of a row at which neighbouring taps apply: of each tap, of any tap, and of all taps.
template <int kTaps>
struct TapColumns {
  i64 low[kTaps], high[kTaps];
  i64 any_low, any_high, all_low = 0, all_high;

  TapColumns(const ConvAxis& axis, i64 tap) : any_low(axis.positions), any_high(0), all_high(axis.positions) {
    for (int t = 0; t < kTaps; ++t) {
      seen_positions(axis, tap + t, low[t], high[t]);
      any_low = smaller(any_low, low[t]);
      any_high = larger(any_high, high[t]);
      all_low = larger(all_low, low[t]);
      all_high = smaller(all_high, high[t]);
    }
  }
};

/// Adds one sample's terms to `kTaps` taps from `tap` on of window row `th`. One load of a gradient serves all of them.
template <class T, int kTaps>
inline void depthwise_taps(const ConvShape& s, i64 th, i64 tap, const T* x, const T* dy, T* dw) {
  i64 low_h, high_h;
  seen_positions(forward_h(s), th, low_h, high_h);
  const TapColumns<kTaps> seen(forward_w(s), tap);
  const i64 x_step = s.stride_w * s.co, x_tap = s.dilation_w * s.co;
  T* target = dw + (th * s.kw + tap) * s.co;
  sweep<T>(s.co, [&](auto lanes, i64 i) {
    typename decltype(lanes)::V acc[kTaps];
    for (int t = 0; t < kTaps; ++t) acc[t] = lanes.load(target + t * s.co + i);
    for (i64 oh = low_h; oh < high_h; ++oh) {
      const i64 row = oh * s.stride_h - s.pad_h + th * s.dilation_h;
      i64 at = (row * s.w - s.pad_w + tap * s.dilation_w) * s.co + seen.any_low * x_step + i;
      const T* gradients = dy + oh * s.ow * s.co + i;
      for (i64 ow = seen.any_low; ow < seen.any_high; ++ow, at += x_step) {
        const auto gradient = lanes.load(gradients + ow * s.co);
        const bool all = ow >= seen.all_low && ow < seen.all_high;
#pragma GCC unroll 8
        for (int t = 0; t < kTaps; ++t) {
          if (all || (ow >= seen.low[t] && ow < seen.high[t])) {
            acc[t] = madd(lanes.load(x + at + t * x_tap), gradient, acc[t]);
          }
        }
      }
    }
    for (int t = 0; t < kTaps; ++t) lanes.store(target + t * s.co + i, acc[t]);
  });
}

template <class T>
inline void depthwise_grad_w(const ConvShape& s, const T* x, const T* dy, T* dw) {
  for (i64 n = 0; n < s.n; ++n, x += s.h * s.w * s.co, dy += s.oh * s.ow * s.co) {
    for (i64 th = 0; th < s.kh; ++th) {
      i64 tap = 0;
      for (; tap + 5 <= s.kw; tap += 5) depthwise_taps<T, 5>(s, th, tap, x, dy, dw);
      for (; tap + 3 <= s.kw; tap += 3) depthwise_taps<T, 3>(s, th, tap, x, dy, dw);
      for (; tap < s.kw; ++tap) depthwise_taps<T, 1>(s, th, tap, x, dy, dw);
    }
  }
}

template <class T>
void conv2d_grad_w(const ConvShape& s, const T* x, const T* dy, T* dw, T*) {
  if (is_pointwise(s)) {
    product<T>({s.ci, s.co, s.n * s.h * s.w, x, 1, s.ci, dy, s.co, 1, nullptr, false, dw});
    return;
  }
  fill<T>(s.kh * s.kw * (s.ci / s.groups) * s.co, T(0), dw);
  if (is_depthwise(s)) return depthwise_grad_w<T>(s, x, dy, dw);
  // Some samples, or some rows of one, at a time, so that all tiles of the gradient read them from L1. The sums
  // continue from part to part.
  const i64 sample = larger(1, (s.h * s.w * s.ci + s.oh * s.ow * s.co) * static_cast<i64>(sizeof(T)));
  const i64 samples = larger(1, kInCacheBytes / sample);
  const i64 cuts = (sample + kInCacheBytes - 1) / kInCacheBytes;
  const i64 rows = larger(1, (s.oh + cuts - 1) / cuts);
  for (i64 n = 0; n < s.n; n += samples) {
    for (i64 oh = 0; oh < s.oh; oh += rows) {
      for (i64 group = 0; group < s.groups; ++group) {
        add_part(WeightGradSlice<T>(s, smaller(samples, s.n - n), oh, smaller(s.oh, oh + rows),
                                    x + n * s.h * s.w * s.ci + group * (s.ci / s.groups),
                                    dy + n * s.oh * s.ow * s.co + group * (s.co / s.groups),
                                    dw + group * (s.co / s.groups)));
      }
    }
  }
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
