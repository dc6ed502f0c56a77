#pragma once
// Pooling: every output, and every cell of a gradient, is gathered by one thread. Cells outside an image are skipped.
#include "lanista/device/block/math.inc.h"

namespace lanista::device::block {
namespace {

/// One axis of windows. `skipped` cells of a window lie before the image.
struct PoolAxis {
  int positions, length, window, stride, pad;

  BLOCK_METHOD int begin(int position) const { return larger(position * stride - pad, 0); }
  BLOCK_METHOD int end(int position) const { return smaller(position * stride - pad + window, length); }
  BLOCK_METHOD int skipped(int position) const { return begin(position) - (position * stride - pad); }
  /// The windows [first, past) that hold a cell.
  BLOCK_METHOD int first(int cell) const { return larger(cell + pad - window + stride, 0) / stride; }
  BLOCK_METHOD int past(int cell) const { return smaller((cell + pad) / stride + 1, positions); }
};

/// n: h, w, c, oh, ow, kh, kw, strides, pads, pads behind, padding counts.
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

/// The largest of a window, and its number there.
struct Chosen {
  float best;
  int where;
};

/// n[14]: relu first. at: x, y, index (bytes).
BLOCK_OP int op_max_pool(const Call& call, const Frame& f, int turn) {
  const Pool p = pool_of(call, f);
  const Reals x = place(f, call.at[0]), y = place(f, call.at[1]);
  const bool indexed = call.at[2] != kNowhere, relu = call.n[14] != 0;
  const Bytes index = bytes_at(indexed ? place(f, call.at[2]) : y);
  const auto chosen = [&](int i) {
    const int channel = i % p.c, position = i / p.c, line = position / p.w.positions;
    const int ow = position % p.w.positions, oh = line % p.h.positions, image = line / p.h.positions * p.h.length;
    const int h_begin = p.h.begin(oh), h_end = p.h.end(oh), w_begin = p.w.begin(ow), w_end = p.w.end(ow);
    Chosen of{-infinity(), 255};
    bool first = true;
    BLOCK_UNROLL_BY(1)
    for (int h = h_begin; h < h_end; ++h) {
      const int cell = (p.h.skipped(oh) + h - h_begin) * p.w.window + p.w.skipped(ow) - w_begin;
      for (int w = w_begin; w < w_end; ++w) {
        const float v = x[((image + h) * p.w.length + w) * p.c + channel];
        // A NaN always wins.
        if (first || v > of.best || v != v) of = {v, cell + w};
        first = false;
      }
    }
    if (relu) of = {relu_of(of.best), of.best <= 0.0F ? 255 : of.where};
    return of;
  };
  return each_into<4>(p.samples * p.h.positions * p.w.positions * p.c, turn, chosen, [&](int i, const Chosen& of) {
    y[i] = of.best;
    if (indexed) index[i] = static_cast<unsigned char>(of.where);
  });
}

/// Every cell sums the gradients of the windows that chose it, in their order. at: index, dy, dx.
BLOCK_OP int op_max_pool_grad(const Call& call, const Frame& f, int turn) {
  const Pool p = pool_of(call, f);
  const Bytes index = bytes_at(place(f, call.at[0]));
  const Reals dy = place(f, call.at[1]), dx = place(f, call.at[2]);
  return each(p.samples * p.h.length * p.w.length * p.c, dx, turn, [&](int i) {
    const int channel = i % p.c, cell = i / p.c, line = cell / p.w.length;
    const int w = cell % p.w.length, h = line % p.h.length, image = line / p.h.length * p.h.positions;
    const int h_past = p.h.past(h), w_past = p.w.past(w);
    float sum = 0.0F;
    BLOCK_UNROLL_BY(1)
    for (int oh = p.h.first(h); oh < h_past; ++oh) {
      const int row = (h - (oh * p.h.stride - p.h.pad)) * p.w.window;
      for (int ow = p.w.first(w); ow < w_past; ++ow) {
        const int number = row + w - (ow * p.w.stride - p.w.pad);
        const int from = ((image + oh) * p.w.positions + ow) * p.c + channel;
        if (index[from] == number) sum += dy[from];
      }
    }
    return sum;
  });
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

/// at: x, y.
BLOCK_OP int op_avg_pool(const Call& call, const Frame& f, int turn) {
  const Pool p = pool_of(call, f);
  const Reals x = place(f, call.at[0]), y = place(f, call.at[1]);
  return each(p.samples * p.h.positions * p.w.positions * p.c, y, turn, [&](int i) {
    const int channel = i % p.c, position = i / p.c, line = position / p.w.positions;
    const int ow = position % p.w.positions, oh = line % p.h.positions, image = line / p.h.positions * p.h.length;
    const int h_end = p.h.end(oh), w_end = p.w.end(ow);
    float sum = 0.0F;
    BLOCK_UNROLL_BY(1)
    for (int h = p.h.begin(oh); h < h_end; ++h) {
      for (int w = p.w.begin(ow); w < w_end; ++w) sum += x[((image + h) * p.w.length + w) * p.c + channel];
    }
    return sum / pool_divisor(p, oh, ow);
  });
}

/// Every window's share first, then every cell's sum of them. at: dy, dx, scratch (as dy).
BLOCK_OP int op_avg_pool_grad(const Call& call, const Frame& f, int turn) {
  const Pool p = pool_of(call, f);
  const Reals dy = place(f, call.at[0]), dx = place(f, call.at[1]), share = place(f, call.at[2]);
  each(p.samples * p.h.positions * p.w.positions * p.c, share, turn, [&](int i) {
    const int position = i / p.c;
    return dy[i] / pool_divisor(p, position / p.w.positions % p.h.positions, position % p.w.positions);
  });
  team_sync();
  return each(p.samples * p.h.length * p.w.length * p.c, dx, turn, [&](int i) {
    const int channel = i % p.c, cell = i / p.c, line = cell / p.w.length;
    const int w = cell % p.w.length, h = line % p.h.length, image = line / p.h.length * p.h.positions;
    const int h_past = p.h.past(h), w_past = p.w.past(w);
    float sum = 0.0F;
    BLOCK_UNROLL_BY(1)
    for (int oh = p.h.first(h); oh < h_past; ++oh) {
      for (int ow = p.w.first(w); ow < w_past; ++ow) {
        sum += share[((image + oh) * p.w.positions + ow) * p.c + channel];
      }
    }
    return sum;
  });
}

}  // namespace
}  // namespace lanista::device::block
