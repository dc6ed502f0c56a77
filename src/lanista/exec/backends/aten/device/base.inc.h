// Lane kernels; each replaces many ATen calls. A thread computes one element or a few, and reads nothing that another
// thread writes. So the order of threads does not matter.
// Where several threads share a row (LANE_ROW_KERNEL: `i` is the row), each has columns of its own, and they exchange
// sums in a fixed order.
// The host compiles the same text (lane_kernels.cpp), where a kernel is a loop over its threads. A GPU compiler
// receives it after device/gpu.inc.h.
// T is the type of values. LANE_KERNEL(name, Arguments) { … } has the index `i` and the arguments `a`. NOLINTBEGIN

// Contiguous elements that are read as one.
struct alignas(4 * sizeof(T)) Four {
  T v[4];
};
// Source of a window's cell on an axis of `size` cells, `spread` apart: at / spread, or none.
LANE_FN int lane_source(int at, int size, int spread) {
  if (spread == 1) return (unsigned)at < (unsigned)size ? at : -1;
  if (at < 0) return -1;
  const int cell = at / spread;
  return cell * spread == at && cell < size ? cell : -1;
}

// Windows of an axis that contain a position: the last window and the position's cell in it. Each earlier window has
// the cell `stride` further on. Windows have no gaps.
struct CoveringWindow {
  int window, cell;
};
LANE_FN CoveringWindow lane_covering_window(int place, int stride) {
  const int last = place / stride;
  return {last, place - last * stride};
}
// An index of [lanes, samples, rows, columns, channels], or `vector_width` channels from `channel` on.
struct Pixel {
  i64 lane, sample, channel;
  int row, column;
};
LANE_FN Pixel lane_pixel(i64 i, int vector_width, i64 samples, i64 rows, i64 columns, i64 channels) {
  Pixel p;
  n32 rest = n32(i);
  p.channel = i64(rest % n32(channels / vector_width)) * vector_width;
  rest /= n32(channels / vector_width);
  p.column = int(rest % n32(columns));
  rest /= n32(columns);
  p.row = int(rest % n32(rows));
  rest /= n32(rows);
  p.sample = rest % n32(samples);
  p.lane = rest / n32(samples);
  return p;
}
// Offset of a pixel's sample and channel in a value with these strides.
LANE_FN i64 lane_origin(const Image& at, const Pixel& p) {
  return p.lane * at.lane + p.sample * at.sample + p.channel * at.channel;
}
LANE_FN Four lane_zeros() {
  Four f;
  for (int k = 0; k < 4; ++k) f.v[k] = T(0);
  return f;
}
LANE_FN Four lane_load(const T* from, int vector_width) {
  Four f;
  if (vector_width == 4) {
    f = *(const Four*)from;
  } else {
    f.v[0] = from[0];
  }
  return f;
}
LANE_FN void lane_store(T* to, const Four& f, int vector_width) {
  if (vector_width == 4) {
    *(Four*)to = f;
  } else {
    to[0] = f.v[0];
  }
}
// Four neighbours, or the first `count` of them.
LANE_FN Four lane_load_some(const T* from, bool fours, int count) {
  Four v = lane_zeros();
  if (fours && count >= 4) return *(const Four*)from;
  LANE_UNROLL for (int k = 0; k < 4; ++k) {
    if (k < count) v.v[k] = from[k];
  }
  return v;
}
LANE_FN void lane_store_some(T* to, const Four& v, bool fours, int count) {
  if (fours && count >= 4) {
    *(Four*)to = v;
    return;
  }
  LANE_UNROLL for (int k = 0; k < 4; ++k) {
    if (k < count) to[k] = v.v[k];
  }
}
LANE_FN T lane_sigmoid(T x) { return T(1) / (LANE_EXP(-x) + T(1)); }
// NOLINTEND
