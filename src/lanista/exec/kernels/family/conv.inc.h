#pragma once
// Convolution forward and its data gradient: the same sum over taps with the roles of the images exchanged and, for the
// gradient, the weights transposed to [kh][kw][co][ci / groups].

#include "lanista/exec/kernels/family/conv_axis.inc.h"
#include "lanista/exec/kernels/family/dense.inc.h"
#include "lanista/exec/kernels/family/tile.inc.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

inline bool is_depthwise(const ConvShape& s) { return s.groups > 1 && s.groups == s.ci && s.groups == s.co; }
inline bool is_pointwise(const ConvShape& s) {
  return s.kh == 1 && s.kw == 1 && s.stride_h == 1 && s.stride_w == 1 && s.pad_h == 0 && s.pad_w == 0 && s.oh == s.h &&
         s.ow == s.w && s.groups == 1;
}

inline ConvAxis forward_h(const ConvShape& s) { return {s.oh, s.h, s.kh, s.stride_h, s.pad_h, s.dilation_h, false}; }
inline ConvAxis forward_w(const ConvShape& s) { return {s.ow, s.w, s.kw, s.stride_w, s.pad_w, s.dilation_w, false}; }
inline ConvAxis backward_h(const ConvShape& s) { return {s.h, s.oh, s.kh, s.stride_h, s.pad_h, s.dilation_h, true}; }
inline ConvAxis backward_w(const ConvShape& s) { return {s.w, s.ow, s.kw, s.stride_w, s.pad_w, s.dilation_w, true}; }

/// A sum over taps from a source image to a target image.
template <class T>
struct TapSum {
  i64 n;
  ConvAxis axis_h, axis_w;
  i64 source_c, target_c;  // channels of the whole images
  i64 k, columns, groups;  // source and target channels of a group
  const T* source;
  const T* weights;  // [kh][kw][..]: group g starts at g * weight_group
  i64 weight_tap, weight_k, weight_group;
  const T* bias;
  bool relu;
  T* target;
};

/// Walks over the positions of a class, sample by sample and row by row.
struct OutputPositions {
  i64 count_h, count_w;
  i64 source_n, source_h, source_w, target_n, target_h, target_w;  // steps
  i64 h = 0, w = 0;
  i64 source = 0, target = 0;  // offsets of the current position
  i64 source_row = 0, target_row = 0, source_image = 0, target_image = 0;

  void advance() {
    source += source_w;
    target += target_w;
    if (++w < count_w) return;
    w = 0;
    source = source_row += source_h;
    target = target_row += target_h;
    if (++h < count_h) return;
    h = 0;
    source = source_row = source_image += source_n;
    target = target_row = target_image += target_n;
  }
};

/// The positions of a class, one image row after the other: long rows of one vector, in tall tiles.
template <class T>
inline void run_rows(const TapSum<T>& job, const AxisClass& ch, const AxisClass& cw, const Terms<T>& terms,
                     const T* source, T* target, const OutputPositions& walk) {
  const ColumnBlock<T> block(job.columns);
  for (i64 n = 0; n < job.n; ++n) {
    for (i64 h = 0; h < ch.count; ++h) {
      const T* a = source + n * walk.source_n + h * walk.source_h;
      T* y = target + n * walk.target_n + h * walk.target_h;
      tile_rows<T>(terms, {a, walk.source_w, y, walk.target_w}, cw.count, block);
    }
  }
}

template <class T>
inline void run_class(const TapSum<T>& job, const AxisClass& ch, const AxisClass& cw, i64 group) {
  const ConvAxis& ah = job.axis_h;
  const ConvAxis& aw = job.axis_w;
  const i64 source_row = aw.source_len * job.source_c;
  const i64 target_row = aw.positions * job.target_c;
  Terms<T> terms;
  terms.taps_h = ch.tap_count;
  terms.taps_w = cw.tap_count;
  if (terms.taps_h == 0 || terms.taps_w == 0) terms.taps_h = terms.taps_w = 0;
  terms.k = job.k;
  terms.a_tap_h = ah.source_per_tap() * source_row;
  terms.a_tap_w = aw.source_per_tap() * job.source_c;
  terms.b_tap_h = ah.tap_step() * aw.taps * job.weight_tap;
  terms.b_tap_w = aw.tap_step() * job.weight_tap;
  terms.b_k = job.weight_k;
  terms.b = job.weights + (ch.tap * aw.taps + cw.tap) * job.weight_tap + group * job.weight_group;
  // Neighbouring taps of one row are neighbours in memory too: one long run.
  if (terms.a_tap_w == terms.k && terms.b_tap_w == terms.k * terms.b_k) {
    terms.k *= terms.taps_w;
    terms.taps_w = smaller(terms.taps_w, 1);
  }
  terms.bias = job.bias != nullptr ? job.bias + group * job.columns : nullptr;
  terms.relu = job.relu;

  OutputPositions walk{ch.count,
                       cw.count,
                       ah.source_len * source_row,
                       ah.source_per_position() * source_row,
                       aw.source_per_position() * job.source_c,
                       ah.positions * target_row,
                       ah.position_step() * target_row,
                       aw.position_step() * job.target_c};
  const T* source = job.source + ch.source * source_row + cw.source * job.source_c + group * job.k;
  T* target = job.target + ch.first * target_row + cw.first * job.target_c + group * job.columns;
  if (job.columns <= Wide<T>::kWidth && cw.count > kMaxTileRows) {
    run_rows(job, ch, cw, terms, source, target, walk);
    return;
  }
  for (i64 remaining = job.n * ch.count * cw.count; remaining > 0;) {
    const i64 rows = even_share(remaining, kMaxTileRows);
    const T* a[kMaxTileRows];
    T* y[kMaxTileRows];
    for (i64 r = 0; r < rows; ++r) {
      a[r] = source + walk.source;
      y[r] = target + walk.target;
      walk.advance();
    }
    tile_columns<T>(terms, rows, job.columns, a, y);
    remaining -= rows;
  }
}

template <class T>
inline void run_taps(const TapSum<T>& job) {
  AxisClass ch;
  while (next_class(job.axis_h, ch)) {
    AxisClass cw;
    while (next_class(job.axis_w, cw)) {
      for (i64 group = 0; group < job.groups; ++group) run_class(job, ch, cw, group);
    }
  }
}

/// Depthwise convolution: channels in the vector; up to four neighbouring positions share one load of the weights.
template <class T, int kPositions>
inline void depthwise_positions(const TapSum<T>& job, const AxisClass& ch, const AxisClass& cw, const T* weights,
                                const T* source, T* target) {
  const ConvAxis& ah = job.axis_h;
  const ConvAxis& aw = job.axis_w;
  const i64 c = job.source_c;
  const i64 source_tap_h = ah.source_per_tap() * aw.source_len * c, source_tap_w = aw.source_per_tap() * c;
  const i64 weight_tap_h = ah.tap_step() * aw.taps * c, weight_tap_w = aw.tap_step() * c;
  const i64 source_step = aw.source_per_position() * c, target_step = aw.position_step() * c;
  sweep<T>(c, [&](auto lanes, i64 i) {
    typename decltype(lanes)::V acc[kPositions] = {};
    for (i64 th = 0; th < ch.tap_count; ++th) {
      for (i64 tw = 0; tw < cw.tap_count; ++tw) {
        const auto weight = lanes.load(weights + th * weight_tap_h + tw * weight_tap_w + i);
        const T* from = source + th * source_tap_h + tw * source_tap_w + i;
#pragma GCC unroll 4
        for (int p = 0; p < kPositions; ++p) acc[p] = madd(lanes.load(from + p * source_step), weight, acc[p]);
      }
    }
#pragma GCC unroll 4
    for (int p = 0; p < kPositions; ++p) {
      if (job.bias != nullptr) acc[p] += lanes.load(job.bias + i);
      lanes.store(target + p * target_step + i, job.relu ? relu_of(acc[p]) : acc[p]);
    }
  });
}

template <class T>
inline void run_depthwise(const TapSum<T>& job) {
  const ConvAxis& ah = job.axis_h;
  const ConvAxis& aw = job.axis_w;
  const i64 c = job.source_c;
  AxisClass ch;
  while (next_class(ah, ch)) {
    AxisClass cw;
    while (next_class(aw, cw)) {
      const T* weights = job.weights + (ch.tap * aw.taps + cw.tap) * c;
      for (i64 n = 0; n < job.n; ++n) {
        for (i64 ih = 0; ih < ch.count; ++ih) {
          const T* source =
              job.source +
              ((n * ah.source_len + ch.source + ih * ah.source_per_position()) * aw.source_len + cw.source) * c;
          T* target =
              job.target + ((n * ah.positions + ch.first + ih * ah.position_step()) * aw.positions + cw.first) * c;
          for_quads(cw.count, [&](auto positions, i64 first) {
            depthwise_positions<T, decltype(positions)::value>(job, ch, cw, weights,
                                                               source + first * aw.source_per_position() * c,
                                                               target + first * aw.position_step() * c);
          });
        }
      }
    }
  }
}

template <class T>
inline void conv_forward(const ConvShape& s, const T* x, const T* w, const T* bias, bool relu, T* y) {
  if (is_pointwise(s)) {
    product<T>({s.n * s.h * s.w, s.co, s.ci, x, s.ci, 1, w, s.co, 1, bias, relu, y});
    return;
  }
  const i64 k = s.ci / s.groups, columns = s.co / s.groups;
  const TapSum<T> job{s.n, forward_h(s), forward_w(s), s.ci,    s.co, k,    columns, s.groups, x,
                      w,   k * s.co,     s.co,         columns, bias, relu, y};
  if (is_depthwise(s)) {
    run_depthwise(job);
  } else {
    run_taps(job);
  }
}

template <class T>
void conv2d(const ConvShape& s, const T* x, const T* w, const T* bias, T* y, T*) {
  conv_forward<T>(s, x, w, bias, false, y);
}

template <class T>
void conv2d_relu(const ConvShape& s, const T* x, const T* w, const T* bias, T* y, T*) {
  conv_forward<T>(s, x, w, bias, true, y);
}

inline i64 conv2d_scratch(const ConvShape& s) { return s.kh * s.kw * (s.ci / s.groups) * s.co; }

/// [tap][ci][co] -> [tap][co][ci].
template <class T>
inline void transpose_weights(i64 taps, i64 ci, i64 co, const T* w, T* transposed) {
  for (i64 tap = 0; tap < taps; ++tap) {
    const T* from = w + tap * ci * co;
    T* to = transposed + tap * ci * co;
    for (i64 o = 0; o < co; ++o) {
      for (i64 i = 0; i < ci; ++i) to[o * ci + i] = from[i * co + o];
    }
  }
}

template <class T>
void conv2d_grad_x(const ConvShape& s, const T* dy, const T* w, T* dx, T* scratch) {
  if (is_pointwise(s)) {
    product<T>({s.n * s.h * s.w, s.ci, s.co, dy, s.co, 1, w, 1, s.co, nullptr, false, dx});
    return;
  }
  const i64 k = s.co / s.groups, columns = s.ci / s.groups;
  TapSum<T> job{s.n, backward_h(s),  backward_w(s), s.co,        s.ci,    k,     columns, s.groups, dy,
                w,   columns * s.co, columns,       k * columns, nullptr, false, dx};
  if (is_depthwise(s)) {
    run_depthwise(job);
    return;
  }
  transpose_weights<T>(s.kh * s.kw, columns, s.co, w, scratch);
  job.weights = scratch;
  run_taps(job);
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
