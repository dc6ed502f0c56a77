#pragma once
// Pooling. One thread gathers each output and each cell of a gradient. Cells outside of an image are skipped.
#include "lanista/exec/backends/cuda_blocks/device/math.inc.h"

namespace lanista::device::block {
namespace {

/// One axis of windows. `skipped` cells of a window are before the image.
struct PoolAxis {
  int positions, length, window, stride, pad;

  BLOCK_METHOD int begin(int position) const { return larger(position * stride - pad, 0); }
  BLOCK_METHOD int end(int position) const { return smaller(position * stride - pad + window, length); }
  BLOCK_METHOD int skipped(int position) const { return begin(position) - (position * stride - pad); }
  /// The windows [first, past) that contain a cell.
  BLOCK_METHOD int first(int cell) const { return larger(cell + pad - window + stride, 0) / stride; }
  BLOCK_METHOD int past(int cell) const { return smaller((cell + pad) / stride + 1, positions); }
};

/// n: h, w, c, oh, ow, kh, kw, strides, pads before, pads after, whether padding counts.
struct Pool {
  PoolAxis h, w;
  int samples, c, pad_bottom, pad_right;
  bool counts_padding;
};

BLOCK_FN Pool pool_of(const Call& call, const Frame& f) {
  const int* n = call.n;
  Pool p;
  p.h = PoolAxis{n[3], n[0], n[5], n[7], n[9]};
  p.w = PoolAxis{n[4], n[1], n[6], n[8], n[10]};
  p.samples = f.batch;
  p.c = n[2];
  p.pad_bottom = n[11];
  p.pad_right = n[12];
  p.counts_padding = n[13] != 0;
  return p;
}

/// Returns one or four channels of an image's cell, from index i on.
template <int kChannels>
BLOCK_FN Four cells_at(Reals x, int i) {
  if (kChannels == 4) return load4(x, i);
  return {{x[i], 0.0F, 0.0F, 0.0F}};
}
template <int kChannels>
BLOCK_FN void store_cells(Reals y, int i, const Four& value) {
  if (kChannels == 4) {
    store4(y, i, value);
  } else {
    y[i] = value.v[0];
  }
}
/// Indices of cells in a window are bytes; four of them are one word.
template <int kChannels>
BLOCK_FN u32 bytes_of(Reals index, int i) {
  if (kChannels == 4) return static_cast<u32>(static_cast<int>(ints_at(index)[i / 4]));
  return bytes_at(index)[i];
}

/// Position in an image: its row and column, and the first row of its image in the other value.
struct Place {
  int h, w, image;
};
BLOCK_FN Place place_of(int position, int height, int width, int other_height) {
  const int line = position / width;
  return {line % height, position % width, line / height * other_height};
}

/// The largest value of a window and its index there, for some channels.
struct Chosen {
  Four best;
  u32 where;  // one byte per channel
};

template <int kChannels>
BLOCK_FN int max_pool(const Pool& p, Reals x, Reals y, bool indexed, Reals index, bool relu, int first_thread) {
  const int some = p.c / kChannels;
  const auto chosen = [&](int i) {
    const Place at = place_of(i / some, p.h.positions, p.w.positions, p.h.length);
    const int channel = i % some * kChannels;
    const int h_begin = p.h.begin(at.h), h_end = p.h.end(at.h), w_begin = p.w.begin(at.w), w_end = p.w.end(at.w);
    Four best;
    int where[4];
    BLOCK_UNROLL(4)
    for (int j = 0; j < 4; ++j) {
      best.v[j] = -infinity();
      where[j] = 255;
    }
    bool first = true;
    BLOCK_UNROLL_BY(1)
    for (int h = h_begin; h < h_end; ++h) {
      const int cell = (p.h.skipped(at.h) + h - h_begin) * p.w.window + p.w.skipped(at.w) - w_begin;
      for (int w = w_begin; w < w_end; ++w) {
        const Four v = cells_at<kChannels>(x, ((at.image + h) * p.w.length + w) * p.c + channel);
        BLOCK_UNROLL(4)
        for (int j = 0; j < kChannels; ++j) {
          // A NaN always wins.
          const bool takes = first || v.v[j] > best.v[j] || v.v[j] != v.v[j];
          best.v[j] = takes ? v.v[j] : best.v[j];
          where[j] = takes ? cell + w : where[j];
        }
        first = false;
      }
    }
    Chosen of{best, 0};
    BLOCK_UNROLL(4)
    for (int j = 0; j < kChannels; ++j) {
      if (relu) {
        where[j] = best.v[j] <= 0.0F ? 255 : where[j];
        of.best.v[j] = relu_of(best.v[j]);
      }
      of.where |= static_cast<u32>(where[j]) << 8 * j;
    }
    return of;
  };
  return each_into<2>(p.samples * p.h.positions * p.w.positions * some, first_thread, chosen,
                      [&](int i, const Chosen& of) {
                        store_cells<kChannels>(y, kChannels * i, of.best);
                        if (!indexed) return;
                        if (kChannels == 4) {
                          ints_at(index)[i] = static_cast<int>(of.where);
                        } else {
                          bytes_at(index)[i] = static_cast<unsigned char>(of.where);
                        }
                      });
}

/// n[14]: whether relu is applied first. at: x, y, index (bytes).
BLOCK_OP int op_max_pool(const Call& call, const Frame& f, int first_thread) {
  const Pool p = pool_of(call, f);
  const Reals x = place(f, call.at[0]), y = place(f, call.at[1]);
  const bool indexed = call.at[2] != kNowhere, relu = call.n[14] != 0;
  const Reals index = indexed ? place(f, call.at[2]) : y;
  if (p.c % 4 == 0 && whole(x) && whole(y)) return max_pool<4>(p, x, y, indexed, index, relu, first_thread);
  return max_pool<1>(p, x, y, indexed, index, relu, first_thread);
}

template <int kChannels>
BLOCK_FN int max_pool_grad(const Pool& p, Reals index, Reals dy, Reals dx, int first_thread) {
  const int some = p.c / kChannels;
  const auto sum_of = [&](int i) {
    const Place at = place_of(i / some, p.h.length, p.w.length, p.h.positions);
    const int channel = i % some * kChannels, h_past = p.h.past(at.h), w_past = p.w.past(at.w);
    Four sum = {};
    BLOCK_UNROLL_BY(1)
    for (int oh = p.h.first(at.h); oh < h_past; ++oh) {
      const int row = (at.h - (oh * p.h.stride - p.h.pad)) * p.w.window;
      BLOCK_UNROLL_BY(1)
      for (int ow = p.w.first(at.w); ow < w_past; ++ow) {
        const u32 number = static_cast<u32>(row + at.w - (ow * p.w.stride - p.w.pad));
        const int from = ((at.image + oh) * p.w.positions + ow) * p.c + channel;
        const u32 chosen = bytes_of<kChannels>(index, from);
        const Four gradient = cells_at<kChannels>(dy, from);
        BLOCK_UNROLL(4)
        for (int j = 0; j < kChannels; ++j) {
          if ((chosen >> 8 * j & 255U) == number) sum.v[j] += gradient.v[j];
        }
      }
    }
    return sum;
  };
  return each_into<4>(p.samples * p.h.length * p.w.length * some, first_thread, sum_of,
                      [&](int i, const Four& sum) { store_cells<kChannels>(dx, kChannels * i, sum); });
}

/// Every cell sums the gradients of the windows that chose it, in their order. at: index, dy, dx.
BLOCK_OP int op_max_pool_grad(const Call& call, const Frame& f, int first_thread) {
  const Pool p = pool_of(call, f);
  const Reals index = place(f, call.at[0]), dy = place(f, call.at[1]), dx = place(f, call.at[2]);
  if (p.c % 4 == 0 && whole(dy) && whole(dx)) return max_pool_grad<4>(p, index, dy, dx, first_thread);
  return max_pool_grad<1>(p, index, dy, dx, first_thread);
}

BLOCK_FN float pool_divisor(const Pool& p, int oh, int ow) {
  const int h_begin = p.h.begin(oh), w_begin = p.w.begin(ow);
  if (!p.counts_padding) {
    const int h = larger(p.h.end(oh) - h_begin, 0), w = larger(p.w.end(ow) - w_begin, 0);
    return static_cast<float>(larger(1, h * w));
  }
  const int height = smaller(p.h.window, p.h.length + p.pad_bottom - (oh * p.h.stride - p.h.pad));
  const int width = smaller(p.w.window, p.w.length + p.pad_right - (ow * p.w.stride - p.w.pad));
  return static_cast<float>(larger(1, height * width));
}

template <int kChannels>
BLOCK_FN int avg_pool(const Pool& p, Reals x, Reals y, int first_thread) {
  const int some = p.c / kChannels;
  const auto mean_of = [&](int i) {
    const Place at = place_of(i / some, p.h.positions, p.w.positions, p.h.length);
    const int channel = i % some * kChannels, h_end = p.h.end(at.h), w_end = p.w.end(at.w);
    const float divisor = pool_divisor(p, at.h, at.w);
    Four sum = {};
    BLOCK_UNROLL_BY(1)
    for (int h = p.h.begin(at.h); h < h_end; ++h) {
      for (int w = p.w.begin(at.w); w < w_end; ++w) {
        const Four v = cells_at<kChannels>(x, ((at.image + h) * p.w.length + w) * p.c + channel);
        BLOCK_UNROLL(4)
        for (int j = 0; j < kChannels; ++j) sum.v[j] += v.v[j];
      }
    }
    BLOCK_UNROLL(4)
    for (int j = 0; j < kChannels; ++j) sum.v[j] = sum.v[j] / divisor;
    return sum;
  };
  return each_into<2>(p.samples * p.h.positions * p.w.positions * some, first_thread, mean_of,
                      [&](int i, const Four& sum) { store_cells<kChannels>(y, kChannels * i, sum); });
}

/// at: x, y.
BLOCK_OP int op_avg_pool(const Call& call, const Frame& f, int first_thread) {
  const Pool p = pool_of(call, f);
  const Reals x = place(f, call.at[0]), y = place(f, call.at[1]);
  if (p.c % 4 == 0 && whole(x) && whole(y)) return avg_pool<4>(p, x, y, first_thread);
  return avg_pool<1>(p, x, y, first_thread);
}

/// First the share of every window, then the sum of the shares for every cell.
template <int kChannels>
BLOCK_FN int avg_pool_grad(const Pool& p, Reals dy, Reals dx, Reals share, int first_thread) {
  const int some = p.c / kChannels;
  const auto share_of = [&](int i) {
    const int position = i / some;
    const float divisor = pool_divisor(p, position / p.w.positions % p.h.positions, position % p.w.positions);
    Four value = cells_at<kChannels>(dy, kChannels * i);
    BLOCK_UNROLL(4)
    for (int j = 0; j < kChannels; ++j) value.v[j] = value.v[j] / divisor;
    return value;
  };
  each_into<2>(p.samples * p.h.positions * p.w.positions * some, first_thread, share_of,
               [&](int i, const Four& value) { store_cells<kChannels>(share, kChannels * i, value); });
  lane_barrier();
  const auto sum_of = [&](int i) {
    const Place at = place_of(i / some, p.h.length, p.w.length, p.h.positions);
    const int channel = i % some * kChannels, h_past = p.h.past(at.h), w_past = p.w.past(at.w);
    Four sum = {};
    BLOCK_UNROLL_BY(1)
    for (int oh = p.h.first(at.h); oh < h_past; ++oh) {
      for (int ow = p.w.first(at.w); ow < w_past; ++ow) {
        const Four v = cells_at<kChannels>(share, ((at.image + oh) * p.w.positions + ow) * p.c + channel);
        BLOCK_UNROLL(4)
        for (int j = 0; j < kChannels; ++j) sum.v[j] += v.v[j];
      }
    }
    return sum;
  };
  return each_into<2>(p.samples * p.h.length * p.w.length * some, first_thread, sum_of,
                      [&](int i, const Four& sum) { store_cells<kChannels>(dx, kChannels * i, sum); });
}

/// at: dy, dx, scratch (as dy).
BLOCK_OP int op_avg_pool_grad(const Call& call, const Frame& f, int first_thread) {
  const Pool p = pool_of(call, f);
  const Reals dy = place(f, call.at[0]), dx = place(f, call.at[1]), share = place(f, call.at[2]);
  if (p.c % 4 == 0 && whole(dy) && whole(dx)) return avg_pool_grad<4>(p, dy, dx, share, first_thread);
  return avg_pool_grad<1>(p, dy, dx, share, first_thread);
}

}  // namespace
}  // namespace lanista::device::block
