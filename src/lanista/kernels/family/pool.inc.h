#pragma once
// Pooling over windows of an image, channels in the vector. Cells outside the image are skipped.

#include "lanista/kernels/family/vector_ops.inc.h"
#include "lanista/kernels/kernels.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

/// Cells [begin, end) of one axis inside the image; `skipped` cells of the window lie before them.
struct Span1 {
  i64 begin, end, skipped;
};

inline Span1 pool_span(i64 position, i64 stride, i64 pad, i64 window, i64 len) {
  const i64 start = position * stride - pad;
  const i64 begin = larger(start, 0), end = smaller(start + window, len);
  return {begin, larger(begin, end), begin - start};
}

inline Span1 adaptive_span(i64 position, i64 outputs, i64 len) {
  return {position * len / outputs, ((position + 1) * len + outputs - 1) / outputs, 0};
}

struct PoolWindow {
  Span1 h, w;
  i64 output, sample;  // flat output position (n, oh, ow), sample
};

template <class H, class W, class F>
inline void for_windows(const PoolShape& s, H span_h, W span_w, F f) {
  i64 output = 0;
  for (i64 n = 0; n < s.n; ++n) {
    for (i64 oh = 0; oh < s.oh; ++oh) {
      for (i64 ow = 0; ow < s.ow; ++ow, ++output) f(PoolWindow{span_h(oh), span_w(ow), output, n});
    }
  }
}

template <class F>
inline void for_pool_windows(const PoolShape& s, F f) {
  for_windows(
      s, [&](i64 oh) { return pool_span(oh, s.stride_h, s.pad_h, s.kh, s.h); },
      [&](i64 ow) { return pool_span(ow, s.stride_w, s.pad_w, s.kw, s.w); }, f);
}

/// Writes the low byte of every lane inside the array.
template <class T>
inline void store_bytes(WholeLanes<T>, std::uint8_t* to, typename Simd<T>::I v) {
  Simd<T>::store_bytes(to, v);
}

template <class T>
inline void store_bytes(FirstLanes<T> lanes, std::uint8_t* to, typename Simd<T>::I v) {
  for (i64 i = 0; i < lanes.n; ++i) to[i] = static_cast<std::uint8_t>(v[i]);
}

template <class T, bool kRelu>
inline void max_pool_form(const PoolShape& s, const T* x, T* y, std::uint8_t* index) {
  using I = typename Simd<T>::I;
  using Int = typename Simd<T>::Int;
  for_pool_windows(s, [&](const PoolWindow& at) {
    const T* image = x + at.sample * s.h * s.w * s.c;
    sweep<T>(s.c, [&](auto lanes, i64 i) {
      // An empty window gives minus infinity and no index.
      Vec<T> best = Simd<T>::set(-static_cast<T>(__builtin_inf()));
      I where = I{} + Int(255);
      bool first = true;
      for (i64 h = at.h.begin; h < at.h.end; ++h) {
        const i64 cell = (at.h.skipped + h - at.h.begin) * s.kw + at.w.skipped - at.w.begin;
        for (i64 w = at.w.begin; w < at.w.end; ++w) {
          const Vec<T> v = lanes.load(image + (h * s.w + w) * s.c + i);
          const I number = I{} + static_cast<Int>(cell + w);
          // A NaN always wins, as in PyTorch: it is the one value that is not <= anything.
          const I takes = first ? ~I{} : static_cast<I>(v > best) | static_cast<I>(v != v);
          best = takes ? v : best;
          where = takes ? number : where;
          first = false;
        }
      }
      if constexpr (kRelu) {
        where = best <= T(0) ? I{} + Int(255) : where;
        best = relu_of<T>(best);
      }
      lanes.store(y + at.output * s.c + i, best);
      if (index != nullptr) store_bytes<T>(lanes, index + at.output * s.c + i, where);
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

/// Every input cell gets the gradients of the windows that chose it, in ascending order of the windows.
template <class T>
void max_pool_grad(const PoolShape& s, const std::uint8_t* index, const T* dy, T* dx) {
  fill<T>(s.n * s.h * s.w * s.c, T(0), dx);
  i64 offset[256];  // of a window's cells from its first one: cheaper than dividing for every element
  for (i64 cell = 0; cell < smaller(255, s.kh * s.kw); ++cell) offset[cell] = (cell / s.kw * s.w + cell % s.kw) * s.c;
  for_pool_windows(s, [&](const PoolWindow& at) {
    T* image = dx + at.sample * s.h * s.w * s.c;
    const i64 start = ((at.h.begin - at.h.skipped) * s.w + at.w.begin - at.w.skipped) * s.c;
    const std::uint8_t* chosen = index + at.output * s.c;
    const T* gradient = dy + at.output * s.c;
    for (i64 i = 0; i < s.c; ++i) {
      if (chosen[i] != 255) image[start + offset[chosen[i]] + i] += gradient[i];
    }
  });
}

/// Mean over windows, and the gradient that spreads it; `divisor(window)` says by how much.
template <class T>
inline void window_mean(const PoolShape& s, const PoolWindow& at, T divisor, const T* x, T* y) {
  const T* image = x + at.sample * s.h * s.w * s.c;
  sweep<T>(s.c, [&](auto lanes, i64 i) {
    Vec<T> sum = {};
    for (i64 h = at.h.begin; h < at.h.end; ++h) {
      for (i64 w = at.w.begin; w < at.w.end; ++w) sum += lanes.load(image + (h * s.w + w) * s.c + i);
    }
    lanes.store(y + at.output * s.c + i, sum / divisor);
  });
}

template <class T>
inline void window_mean_grad(const PoolShape& s, const PoolWindow& at, T divisor, const T* dy, T* dx) {
  T* image = dx + at.sample * s.h * s.w * s.c;
  sweep<T>(s.c, [&](auto lanes, i64 i) {
    const Vec<T> share = lanes.load(dy + at.output * s.c + i) / divisor;
    for (i64 h = at.h.begin; h < at.h.end; ++h) {
      for (i64 w = at.w.begin; w < at.w.end; ++w) {
        T* cell = image + (h * s.w + w) * s.c + i;
        lanes.store(cell, lanes.load(cell) + share);
      }
    }
  });
}

inline i64 cells(const PoolWindow& at) { return larger(1, (at.h.end - at.h.begin) * (at.w.end - at.w.begin)); }

template <class T>
inline T avg_divisor(const PoolShape& s, const PoolWindow& at) {
  if (!s.count_include_pad) return static_cast<T>(cells(at));
  // Padding counts, but a window that reaches beyond the padding (ceil mode) is cut there, as in PyTorch.
  const i64 height = smaller(s.kh, s.h + s.pad_bottom - (at.h.begin - at.h.skipped));
  const i64 width = smaller(s.kw, s.w + s.pad_right - (at.w.begin - at.w.skipped));
  return static_cast<T>(larger(1, height * width));
}

template <class T>
void avg_pool(const PoolShape& s, const T* x, T* y) {
  for_pool_windows(s, [&](const PoolWindow& at) { window_mean<T>(s, at, avg_divisor<T>(s, at), x, y); });
}

template <class T>
void avg_pool_grad(const PoolShape& s, const T* dy, T* dx) {
  fill<T>(s.n * s.h * s.w * s.c, T(0), dx);
  for_pool_windows(s, [&](const PoolWindow& at) { window_mean_grad<T>(s, at, avg_divisor<T>(s, at), dy, dx); });
}

template <class F>
inline void for_adaptive_windows(const PoolShape& s, F f) {
  for_windows(
      s, [&](i64 oh) { return adaptive_span(oh, s.oh, s.h); }, [&](i64 ow) { return adaptive_span(ow, s.ow, s.w); }, f);
}

template <class T>
void adaptive_avg_pool(const PoolShape& s, const T* x, T* y) {
  for_adaptive_windows(s, [&](const PoolWindow& at) { window_mean<T>(s, at, static_cast<T>(cells(at)), x, y); });
}

template <class T>
void adaptive_avg_pool_grad(const PoolShape& s, const T* dy, T* dx) {
  fill<T>(s.n * s.h * s.w * s.c, T(0), dx);
  for_adaptive_windows(s, [&](const PoolWindow& at) { window_mean_grad<T>(s, at, static_cast<T>(cells(at)), dy, dx); });
}

/// inner == 1: the fixed tree over the row; otherwise ascending along the axis with `inner` in the vector.
template <class T>
void mean_axis(const AxisShape& s, const T* x, T* y) {
  const T count = static_cast<T>(s.len);
  for (i64 o = 0; o < s.outer; ++o, x += s.len * s.inner, y += s.inner) {
    if (s.inner == 1) {
      y[0] = tree_sum<T>(s.len, [&](auto lanes, i64 i, Vec<T> acc) { return acc + lanes.load(x + i); }) / count;
      continue;
    }
    sweep<T>(s.inner, [&](auto lanes, i64 i) {
      Vec<T> sum = {};
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
