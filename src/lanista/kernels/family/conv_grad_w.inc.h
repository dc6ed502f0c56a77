#pragma once
// The weight gradient: rows of a tile are (tap, input channel) pairs, columns are output channels, and the sum runs
// over n, oh, ow in ascending order. A row whose tap falls outside the image at a position skips that position.

#include "lanista/kernels/family/conv.inc.h"
#include "lanista/kernels/family/conv_axis.inc.h"
#include "lanista/kernels/family/dense.inc.h"
#include "lanista/kernels/family/tile.inc.h"
#include "lanista/kernels/kernels.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

/// Where row r of a tile reads and which output positions it sees.
struct GradRows {
  i64 offset[kMaxTileRows];  // of the source element at n = oh = ow = 0; may be negative
  i64 low_h[kMaxTileRows], high_h[kMaxTileRows], low_w[kMaxTileRows], high_w[kMaxTileRows];
};

template <class T>
struct GradSum {
  i64 n, oh, ow;
  i64 x_n, x_oh, x_ow;     // source steps per sample and per output position
  i64 dy_n, dy_oh, dy_ow;  // likewise
  const T* x;
  const T* dy;  // at the tile's first column
};

template <class T, int kRows, int kColumns, bool kPart>
void grad_tile(const GradSum<T>& s, const GradRows& rows, T* const* dw, i64 part) {
  using S = Wide<T>;
  using V = typename S::V;
  constexpr i64 kW = S::kWidth;
  const auto load = [part](const T* p, int j) {
    return kPart && j == kColumns - 1 ? S::load_part(p + j * kW, part) : S::load(p + j * kW);
  };
  const T* row[kRows];
  V acc[kRows][kColumns];
  // Positions that every row sees, and those that any row sees.
  i64 low_h = 0, high_h = s.oh, low_w = 0, high_w = s.ow;
  i64 any_low_h = s.oh, any_high_h = 0, any_low_w = s.ow, any_high_w = 0;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    // Through an integer: the address at position 0 may lie before the array; it is not read there.
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
  const bool alike = low_h == any_low_h && high_h == any_high_h && low_w == any_low_w && high_w == any_high_w;
  if (alike) {
    const i64 x_start = low_h * s.x_oh + low_w * s.x_ow, x_ow = s.x_ow, dy_ow = s.dy_ow, run = high_w - low_w;
    const T* dy_start = s.dy + low_h * s.dy_oh + low_w * s.dy_ow;
    for (i64 n = 0; n < s.n; ++n) {
      i64 at_row = x_start + n * s.x_n;
      const T* dy_row = dy_start + n * s.dy_n;
      for (i64 oh = low_h; oh < high_h; ++oh, at_row += s.x_oh, dy_row += s.dy_oh) {
        i64 at = at_row;
        const T* dy = dy_row;
        for (i64 left_over = run; left_over > 0; --left_over, at += x_ow, dy += dy_ow) {
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
      }
    }
  }
  for (i64 n = alike ? s.n : 0; n < s.n; ++n) {
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
using GradFunction = void (*)(const GradSum<T>&, const GradRows&, T* const*, i64);

template <class T, int kRows>
struct GradColumn {
  static constexpr GradFunction<T> kForms[4] = {grad_tile<T, kRows, 1, false>, grad_tile<T, kRows, 1, true>,
                                                grad_tile<T, kRows, 2, false>, grad_tile<T, kRows, 2, true>};
};

template <class T, int... kRows>
inline GradFunction<T> grad_function(i64 rows, int form, std::integer_sequence<int, kRows...>) {
  static constexpr const GradFunction<T>* kByRows[] = {GradColumn<T, kRows + 1>::kForms...};
  return kByRows[rows - 1][form];
}
template <class T>
inline GradFunction<T> grad_function(i64 rows, int form) {
  return grad_function<T>(rows, form, std::make_integer_sequence<int, kMaxTileRows>());
}

/// Output positions o with 0 <= o * stride - pad + tap * dilation < len.
inline void seen_positions(const ConvAxis& axis, i64 tap, i64& low, i64& high) {
  const i64 shift = axis.pad - tap * axis.dilation;
  low = shift <= 0 ? 0 : (shift + axis.stride - 1) / axis.stride;
  const i64 room = axis.source_len + shift;
  high = room <= 0 ? 0 : smaller(axis.positions, (room + axis.stride - 1) / axis.stride);
  low = smaller(low, high);
}

/// Adds the terms of n samples and the output rows [oh_begin, oh_end) to a group's gradient.
template <class T>
inline void grad_group(const ConvShape& s, i64 n, i64 oh_begin, i64 oh_end, const T* x, const T* dy, T* dw) {
  const ConvAxis ah = forward_h(s), aw = forward_w(s);
  const i64 ci = s.ci / s.groups, columns = s.co / s.groups;
  const i64 all_rows = s.kh * s.kw * ci;
  GradSum<T> sum{
      n,    s.oh, s.ow, s.h * s.w * s.ci, s.stride_h * s.w * s.ci, s.stride_w * s.ci, s.oh * s.ow * s.co, s.ow * s.co,
      s.co, x,    dy};
  for (i64 first = 0; first < all_rows;) {
    // A tile of one tap needs no case distinction at borders; with few channels it would be too small.
    const i64 count = tile_rows(ci >= 4 ? ci - first % ci : all_rows - first);
    GradRows rows;
    T* target[kMaxTileRows];
    for (i64 r = 0; r < count; ++r) {
      const i64 channel = (first + r) % ci, tap = (first + r) / ci;
      const i64 th = tap / s.kw, tw = tap % s.kw;
      rows.offset[r] = ((th * s.dilation_h - s.pad_h) * s.w + (tw * s.dilation_w - s.pad_w)) * s.ci + channel;
      seen_positions(ah, th, rows.low_h[r], rows.high_h[r]);
      rows.low_h[r] = smaller(larger(rows.low_h[r], oh_begin), oh_end);
      rows.high_h[r] = larger(smaller(rows.high_h[r], oh_end), rows.low_h[r]);
      seen_positions(aw, tw, rows.low_w[r], rows.high_w[r]);
      target[r] = dw + (first + r) * s.co;
    }
    for (i64 c = 0; c < columns; c += ColumnBlock<T>::kMost) {
      const ColumnBlock<T> block(smaller(columns - c, ColumnBlock<T>::kMost));
      sum.dy = dy + c;
      grad_function<T>(count, block.form)(sum, rows, target, block.part);
      for (i64 r = 0; r < count; ++r) target[r] += ColumnBlock<T>::kMost;
    }
    first += count;
  }
}

template <class T>
inline void depthwise_grad_w(const ConvShape& s, const T* x, const T* dy, T* dw) {
  const ConvAxis ah = forward_h(s), aw = forward_w(s);
  const i64 c = s.co;
  for (i64 n = 0; n < s.n; ++n) {
    for (i64 th = 0; th < s.kh; ++th) {
      i64 low_h, high_h;
      seen_positions(ah, th, low_h, high_h);
      for (i64 tw = 0; tw < s.kw; ++tw) {
        i64 low_w, high_w;
        seen_positions(aw, tw, low_w, high_w);
        T* target = dw + (th * s.kw + tw) * c;
        sweep<T>(c, [&](auto lanes, i64 i) {
          Vec<T> acc = lanes.load(target + i);
          for (i64 oh = low_h; oh < high_h; ++oh) {
            const T* x_row = x + (n * s.h + oh * s.stride_h - s.pad_h + th * s.dilation_h) * s.w * c + i;
            const T* dy_row = dy + (n * s.oh + oh) * s.ow * c + i;
            for (i64 ow = low_w; ow < high_w; ++ow) {
              acc = Simd<T>::madd(lanes.load(x_row + (ow * s.stride_w - s.pad_w + tw * s.dilation_w) * c),
                                  lanes.load(dy_row + ow * c), acc);
            }
          }
          lanes.store(target + i, acc);
        });
      }
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
  if (is_depthwise(s)) {
    depthwise_grad_w<T>(s, x, dy, dw);
    return;
  }
  // Some samples or rows of one at a time, so that all tiles of the gradient read them from L1; the sums go on where
  // they stood.
  const i64 sample = larger(1, (s.h * s.w * s.ci + s.oh * s.ow * s.co) * static_cast<i64>(sizeof(T)));
  const i64 samples = larger(1, kInCacheBytes / sample);
  const i64 cuts = (sample + kInCacheBytes - 1) / kInCacheBytes;
  const i64 rows = larger(1, (s.oh + cuts - 1) / cuts);
  for (i64 n = 0; n < s.n; n += samples) {
    for (i64 oh = 0; oh < s.oh; oh += rows) {
      for (i64 group = 0; group < s.groups; ++group) {
        grad_group<T>(s, smaller(samples, s.n - n), oh, smaller(s.oh, oh + rows),
                      x + n * s.h * s.w * s.ci + group * (s.ci / s.groups),
                      dy + n * s.oh * s.ow * s.co + group * (s.co / s.groups), dw + group * (s.co / s.groups));
      }
    }
  }
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
