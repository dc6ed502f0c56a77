#pragma once
// Pooling over windows of an image, channels in the vector. Cells outside the image are skipped.

#include "lanista/exec/kernels/family/activation.inc.h"
#include "lanista/exec/kernels/family/vector_ops.inc.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

/// Cells [begin, end) of a window along one axis that are inside the image. `skipped` cells of the window precede them.
struct IndexRange {
  i64 begin, end, skipped;
};

/// One axis of a pool: the cells of every position. The windows of [full_begin, full_end) are whole, `step` cells
/// apart, so they need no border check.
struct PoolAxis {
  i64 positions, len, window, stride, pad;
  i64 full_begin, full_end, step;

  IndexRange span(i64 position) const {
    const i64 start = position * stride - pad;
    const i64 begin = larger(start, 0), end = smaller(start + window, len);
    return {begin, larger(begin, end), begin - start};
  }
};

inline PoolAxis window_axis(i64 positions, i64 len, i64 window, i64 stride, i64 pad) {
  const i64 begin = smaller((pad + stride - 1) / stride, positions);
  const i64 last_start = len + pad - window;
  const i64 end = last_start < 0 ? 0 : smaller(last_start / stride + 1, positions);
  return {positions, len, window, stride, pad, begin, larger(begin, end), stride};
}

/// Positions with a given cell in their window.
struct CoveringAxis {
  i64 positions, full_begin, full_end, step;
  PoolAxis windows;

  explicit CoveringAxis(const PoolAxis& a) : positions(a.len), full_begin(0), full_end(0), step(1), windows(a) {
    if (a.stride != 1) return;
    full_begin = smaller(larger(a.window - 1 - a.pad, 0), positions);
    full_end = larger(full_begin, smaller(a.positions - a.pad, positions));
  }
  IndexRange span(i64 cell) const {
    const i64 reach = cell + windows.pad;
    const i64 first = larger(reach - windows.window + windows.stride, 0) / windows.stride;
    const i64 last = smaller(reach / windows.stride + 1, windows.positions);
    return {first, larger(first, last), 0};
  }
};

struct AdaptiveAxis {
  i64 positions, len;
  static constexpr i64 full_begin = 0, full_end = 0, step = 1;

  IndexRange span(i64 position) const {
    return {position * len / positions, ((position + 1) * len + positions - 1) / positions, 0};
  }
};

/// `count` neighbouring windows of a row, `step` cells apart.
struct PoolSegment {
  IndexRange h, w;  // of the first
  i64 count, step;
  i64 output, sample;  // flat position (n, oh, ow) of the first, sample
};

template <class H, class W, class F>
inline void for_runs(i64 samples, const H& axis_h, const W& axis_w, F f) {
  i64 output = 0;
  for (i64 n = 0; n < samples; ++n) {
    for (i64 oh = 0; oh < axis_h.positions; ++oh) {
      const IndexRange h = axis_h.span(oh);
      for (i64 ow = 0; ow < axis_w.positions;) {
        const i64 count = ow >= axis_w.full_begin && ow < axis_w.full_end ? axis_w.full_end - ow : 1;
        f(PoolSegment{h, axis_w.span(ow), count, axis_w.step, output, n});
        ow += count;
        output += count;
      }
    }
  }
}

template <class F>
inline void for_pool_runs(const PoolShape& s, F f) {
  for_runs(s.n, window_axis(s.oh, s.h, s.kh, s.stride_h, s.pad_h), window_axis(s.ow, s.w, s.kw, s.stride_w, s.pad_w),
           f);
}

/// Writes the low byte of every lane inside the array.
template <class S>
inline void store_bytes(WholeLanes<S>, std::uint8_t* to, typename S::I v) {
  S::store_bytes(to, v);
}
template <class S>
inline void store_bytes(FirstLanes<S> lanes, std::uint8_t* to, typename S::I v) {
  for (i64 i = 0; i < lanes.n; ++i) to[i] = static_cast<std::uint8_t>(v[i]);
}

template <class S>
inline typename S::I load_bytes(WholeLanes<S>, const std::uint8_t* from) {
  return S::load_bytes(from);
}
template <class S>
inline typename S::I load_bytes(FirstLanes<S> lanes, const std::uint8_t* from) {
  typename S::I v = {};
  for (i64 i = 0; i < lanes.n; ++i) v[i] = from[i];
  return v;
}

template <class T, bool kRelu>
inline void max_pool_form(const PoolShape& s, const T* x, T* y, std::uint8_t* index) {
  using I = typename Wide<T>::I;
  using Int = typename Wide<T>::Int;
  for_pool_runs(s, [&](const PoolSegment& run) {
    const T* image = x + run.sample * s.h * s.w * s.c;
    for_quads(run.count, [&](auto windows, i64 window) {
      constexpr int kN = decltype(windows)::value;
      const T* start = image + window * run.step * s.c;
      sweep<T>(s.c, [&](auto lanes, i64 i) {
        // An empty window gives minus infinity and index 255.
        typename decltype(lanes)::V best[kN];
        I where[kN];
        for (int p = 0; p < kN; ++p) {
          best[p] = lanes.set(-static_cast<T>(__builtin_inf()));
          where[p] = I{} + Int(255);
        }
        bool first = true;
        for (i64 h = run.h.begin; h < run.h.end; ++h) {
          const i64 cell = (run.h.skipped + h - run.h.begin) * s.kw + run.w.skipped - run.w.begin;
          for (i64 w = run.w.begin; w < run.w.end; ++w) {
            const I number = I{} + static_cast<Int>(cell + w);
            const T* at = start + (h * s.w + w) * s.c + i;
#pragma GCC unroll 4
            for (int p = 0; p < kN; ++p) {
              const auto v = lanes.load(at + p * run.step * s.c);
              // A NaN always wins, as in PyTorch.
              const I takes = first ? ~I{} : static_cast<I>(v > best[p]) | static_cast<I>(v != v);
              best[p] = takes ? v : best[p];
              where[p] = takes ? number : where[p];
            }
            first = false;
          }
        }
        for (int p = 0; p < kN; ++p) {
          const i64 to = (run.output + window + p) * s.c + i;
          if constexpr (kRelu) {
            where[p] = best[p] <= T(0) ? I{} + Int(255) : where[p];
            best[p] = relu_of(best[p]);
          }
          lanes.store(y + to, best[p]);
          if (index != nullptr) store_bytes(lanes, index + to, where[p]);
        }
      });
    });
  });
}

template <class T>
void max_pool(const PoolShape& s, const T* x, T* y, std::uint8_t* index) {
  max_pool_form<T, false>(s, x, y, index);
}

template <class T>
void relu_max_pool(const PoolShape& s, const T* x, T* y, std::uint8_t* index) {
  max_pool_form<T, true>(s, x, y, index);
}

/// Gradient for windows that do not overlap: a cell receives the gradient of its window or zero.
template <class T>
inline void spread_gradient(const PoolShape& s, const PoolSegment& run, const std::uint8_t* index, const T* dy,
                            T* image) {
  using Int = typename Wide<T>::Int;
  for (i64 p = 0; p < run.count; ++p) {
    const i64 from = (run.output + p) * s.c;
    sweep<T>(s.c, [&](auto lanes, i64 i) {
      const auto chosen = load_bytes(lanes, index + from + i);
      const auto gradient = lanes.load(dy + from + i) + T(0);  // as a sum from zero: no -0
      for (i64 h = run.h.begin; h < run.h.end; ++h) {
        const i64 cell = (run.h.skipped + h - run.h.begin) * s.kw + run.w.skipped - run.w.begin;
        for (i64 w = run.w.begin; w < run.w.end; ++w) {
          const auto takes = chosen == static_cast<Int>(cell + w);
          lanes.store(image + (h * s.w + w + p * run.step) * s.c + i, takes ? gradient : lanes.set(T(0)));
        }
      }
    });
  }
}

/// Adds to every input cell the gradients of the windows of which it is the maximum, in ascending order of the windows.
template <class T>
void max_pool_grad(const PoolShape& s, const std::uint8_t* index, const T* dy, T* dx) {
  const bool apart = s.stride_h >= s.kh && s.stride_w >= s.kw;
  // Adjacent windows that cover the image from corner to corner write every cell.
  const bool tiled = s.stride_h == s.kh && s.stride_w == s.kw && s.pad_h == 0 && s.pad_w == 0 && s.oh * s.kh == s.h &&
                     s.ow * s.kw == s.w;
  if (!tiled) fill<T>(s.n * s.h * s.w * s.c, T(0), dx);
  i64 offset[256];  // offset of each window cell from the first; replaces a division per element
  for (i64 cell = 0; cell < smaller(255, s.kh * s.kw); ++cell) offset[cell] = (cell / s.kw * s.w + cell % s.kw) * s.c;
  for_pool_runs(s, [&](const PoolSegment& run) {
    T* image = dx + run.sample * s.h * s.w * s.c;
    if (apart) return spread_gradient<T>(s, run, index, dy, image);
    for (i64 p = 0; p < run.count; ++p) {
      const i64 start = ((run.h.begin - run.h.skipped) * s.w + run.w.begin - run.w.skipped + p * run.step) * s.c;
      const std::uint8_t* chosen = index + (run.output + p) * s.c;
      const T* gradient = dy + (run.output + p) * s.c;
      for (i64 i = 0; i < s.c; ++i) {
        if (chosen[i] != 255) image[start + offset[chosen[i]] + i] += gradient[i];
      }
    }
  });
}

/// y[window] = (sum over its cells of `image` [..][w][c]) / divisor, for the windows of a run.
template <class T>
inline void window_sums(const PoolSegment& run, i64 w, i64 c, T divisor, const T* image, T* y) {
  for_quads(run.count, [&](auto windows, i64 window) {
    constexpr int kN = decltype(windows)::value;
    const T* start = image + window * run.step * c;
    sweep<T>(c, [&](auto lanes, i64 i) {
      typename decltype(lanes)::V sum[kN] = {};
      for (i64 h = run.h.begin; h < run.h.end; ++h) {
        const T* row = start + h * w * c + i;
        for (i64 column = run.w.begin; column < run.w.end; ++column) {
#pragma GCC unroll 4
          for (int p = 0; p < kN; ++p) sum[p] += lanes.load(row + (column + p * run.step) * c);
        }
      }
      for (int p = 0; p < kN; ++p) lanes.store(y + (window + p) * c + i, divisor == T(1) ? sum[p] : sum[p] / divisor);
    });
  });
}

inline i64 cells(const PoolSegment& run) { return larger(1, (run.h.end - run.h.begin) * (run.w.end - run.w.begin)); }

template <class T>
inline T avg_divisor(const PoolShape& s, const PoolSegment& run) {
  if (!s.count_include_pad) return static_cast<T>(cells(run));
  // Padding counts. A window that reaches beyond the padding (ceil mode) ends there, as in PyTorch.
  const i64 height = smaller(s.kh, s.h + s.pad_bottom - (run.h.begin - run.h.skipped));
  const i64 width = smaller(s.kw, s.w + s.pad_right - (run.w.begin - run.w.skipped));
  return static_cast<T>(larger(1, height * width));
}

template <class T>
void avg_pool(const PoolShape& s, const T* x, T* y) {
  for_pool_runs(s, [&](const PoolSegment& run) {
    window_sums<T>(run, s.w, s.c, avg_divisor<T>(s, run), x + run.sample * s.h * s.w * s.c, y + run.output * s.c);
  });
}

/// Computes the share of every window, then sums for every cell the shares of the windows that contain it. The order is
/// ascending by window. `scratch` holds the shares of one sample.
template <class T>
void avg_pool_grad(const PoolShape& s, const T* dy, T* dx, T* scratch) {
  const PoolAxis axis_h = window_axis(s.oh, s.h, s.kh, s.stride_h, s.pad_h);
  const PoolAxis axis_w = window_axis(s.ow, s.w, s.kw, s.stride_w, s.pad_w);
  const i64 outputs = s.oh * s.ow * s.c;
  for (i64 n = 0; n < s.n; ++n, dy += outputs, dx += s.h * s.w * s.c) {
    for_runs(1, axis_h, axis_w, [&](const PoolSegment& run) {
      const T divisor = avg_divisor<T>(s, run);
      map<T>(run.count * s.c, dy + run.output * s.c, scratch + run.output * s.c,
             [divisor](auto v) { return v / divisor; });
    });
    for_runs(1, CoveringAxis(axis_h), CoveringAxis(axis_w),
             [&](const PoolSegment& run) { window_sums<T>(run, s.ow, s.c, T(1), scratch, dx + run.output * s.c); });
  }
}

template <class F>
inline void for_adaptive_runs(const PoolShape& s, F f) {
  for_runs(s.n, AdaptiveAxis{s.oh, s.h}, AdaptiveAxis{s.ow, s.w}, f);
}

template <class T>
void adaptive_avg_pool(const PoolShape& s, const T* x, T* y) {
  for_adaptive_runs(s, [&](const PoolSegment& run) {
    window_sums<T>(run, s.w, s.c, static_cast<T>(cells(run)), x + run.sample * s.h * s.w * s.c, y + run.output * s.c);
  });
}

template <class T>
void adaptive_avg_pool_grad(const PoolShape& s, const T* dy, T* dx) {
  fill<T>(s.n * s.h * s.w * s.c, T(0), dx);
  for_adaptive_runs(s, [&](const PoolSegment& run) {
    const T divisor = static_cast<T>(cells(run));
    T* image = dx + run.sample * s.h * s.w * s.c;
    sweep<T>(s.c, [&](auto lanes, i64 i) {
      const auto share = lanes.load(dy + run.output * s.c + i) / divisor;
      for (i64 h = run.h.begin; h < run.h.end; ++h) {
        for (i64 w = run.w.begin; w < run.w.end; ++w) {
          T* cell = image + (h * s.w + w) * s.c + i;
          lanes.store(cell, lanes.load(cell) + share);
        }
      }
    });
  });
}

/// If inner is 1, the sum is the fixed tree over the row. Else it ascends along the axis, with `inner` in the vector.
template <class T>
void mean_axis(const AxisShape& s, const T* x, T* y) {
  const T count = static_cast<T>(s.len);
  for (i64 o = 0; o < s.outer; ++o, x += s.len * s.inner, y += s.inner) {
    if (s.inner == 1) {
      y[0] = tree_sum<T>(s.len, [&](auto lanes, i64 i, auto acc) { return acc + lanes.load(x + i); }) / count;
      continue;
    }
    sweep<T>(s.inner, [&](auto lanes, i64 i) {
      auto sum = lanes.set(T(0));
      for (i64 l = 0; l < s.len; ++l) sum += lanes.load(x + l * s.inner + i);
      lanes.store(y + i, sum / count);
    });
  }
}

template <class T>
void mean_axis_grad(const AxisShape& s, const T* dy, T* dx) {
  const T count = static_cast<T>(s.len);
  for (i64 o = 0; o < s.outer; ++o, dx += s.len * s.inner, dy += s.inner) {
    if (s.inner == 1) {
      fill<T>(s.len, dy[0] / count, dx);
      continue;
    }
    for (i64 l = 0; l < s.len; ++l) {
      sweep<T>(s.inner, [&](auto lanes, i64 i) { lanes.store(dx + l * s.inner + i, lanes.load(dy + i) / count); });
    }
  }
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
