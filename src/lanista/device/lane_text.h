// Kernels of lanes: each stands for many calls of ATen. One thread makes one number, or a few that nobody else makes,
// and reads nothing that a neighbour writes, so the order of threads is of no account. Where some threads share a row
// (LANE_ROW_KERNEL: `i` is the row), each has columns of its own, and they tell each other sums, in one order.
// The host compiles the same text (lane_kernels.cpp), where a kernel is a loop over its threads; a GPU's driver gets it
// as text (lane_source.h). T is the type of values; LANE_KERNEL(name, Arguments) { … } has its number `i` and `a`.
// NOLINTBEGIN

// Numbers that lie side by side, read as one.
struct alignas(4 * sizeof(T)) Four {
  T v[4];
};
// Where a window's cell comes from along an axis of `size` cells, `spread` apart: at / spread, or none.
LANE_FN int lane_source(int at, int size, int spread) {
  if (spread == 1) return (unsigned)at < (unsigned)size ? at : -1;
  if (at < 0) return -1;
  const int cell = at / spread;
  return cell * spread == at && cell < size ? cell : -1;
}

// The windows of an axis that hold a place: of the last one, its number and the place's cell in it; the others come
// one before another, `stride` cells on. Windows have no gaps.
struct Holders {
  int window, cell;
};
LANE_FN Holders lane_holders(int place, int stride) {
  const int last = place / stride;
  return {last, place - last * stride};
}
LANE_FN Four lane_load(const T* from, int wide) {
  Four f;
  if (wide == 4) {
    f = *(const Four*)from;
  } else {
    f.v[0] = from[0];
  }
  return f;
}
LANE_FN void lane_store(T* to, const Four& f, int wide) {
  if (wide == 4) {
    *(Four*)to = f;
  } else {
    to[0] = f.v[0];
  }
}
LANE_FN T lane_sigmoid(T x) { return T(1) / (LANE_EXP(-x) + T(1)); }

// ---- element by element ----

// A kernel y = f(x) or f(x, dy) from what it does to one number.
#define LANE_ELEMENTWISE(name)                                                            \
  LANE_KERNEL(name, Elementwise) {                                                        \
    const int wide = int(a.wide);                                                         \
    const Four x = lane_load(LANE_READ(x) + i * wide, wide);                              \
    Four y = x, dy = x;                                                                   \
    if (a.dy) dy = lane_load(LANE_READ(dy) + i * wide, wide);                             \
    for (int k = 0; k < 4; ++k) {                                                         \
      if (k < wide) y.v[k] = name##_of(x.v[k], dy.v[k], a);                               \
    }                                                                                     \
    lane_store(LANE_WRITE(y) + i * wide, y, wide);                                        \
  }

LANE_FN T relu_of(T x, T, const Elementwise&) { return x <= T(0) ? T(0) : x; }
LANE_FN T relu_grad_of(T x, T dy, const Elementwise&) { return x <= T(0) ? T(0) : dy; }
LANE_FN T clip_of(T x, T, const Elementwise& a) {
  const T raised = x < T(a.a) ? T(a.a) : x;
  return raised > T(a.b) ? T(a.b) : raised;
}
LANE_FN T clip_grad_of(T x, T dy, const Elementwise& a) { return x <= T(a.a) || x >= T(a.b) ? T(0) : dy; }
LANE_FN T lane_gelu_gate(T x) { return lane_sigmoid((x * T(1.5957691216057307)) * (x * x * T(0.044715) + T(1))); }
LANE_FN T gelu_of(T x, T, const Elementwise&) { return x * lane_gelu_gate(x); }
LANE_FN T gelu_grad_of(T x, T dy, const Elementwise&) {
  const T gate = lane_gelu_gate(x);
  const T slope = x * x * T(3 * 0.044715 * 1.5957691216057307) + T(1.5957691216057307);
  return dy * ((x * slope) * (gate * (T(1) - gate)) + gate);
}
LANE_FN T silu_of(T x, T, const Elementwise&) { return x * lane_sigmoid(x); }
LANE_FN T silu_grad_of(T x, T dy, const Elementwise&) {
  const T gate = lane_sigmoid(x);
  return dy * (x * (gate * (T(1) - gate)) + gate);
}
LANE_FN T hard_swish_of(T x, T, const Elementwise&) {
  T gate = x * T(1.0 / 6) + T(0.5);
  if (gate < T(0)) gate = T(0);
  if (gate > T(1)) gate = T(1);
  return x * gate;
}
LANE_FN T hard_swish_grad_of(T x, T dy, const Elementwise&) {
  return x <= T(-3) ? T(0) : x >= T(3) ? dy : dy * (x * T(1.0 / 3) + T(0.5));
}
LANE_ELEMENTWISE(relu)
LANE_ELEMENTWISE(relu_grad)
LANE_ELEMENTWISE(clip)
LANE_ELEMENTWISE(clip_grad)
LANE_ELEMENTWISE(gelu)
LANE_ELEMENTWISE(gelu_grad)
LANE_ELEMENTWISE(silu)
LANE_ELEMENTWISE(silu_grad)
LANE_ELEMENTWISE(hard_swish)
LANE_ELEMENTWISE(hard_swish_grad)

LANE_KERNEL(sum, Sum) {
  const int wide = int(a.wide);
  Four y = lane_load((const T*)a.x[0] + i * wide, wide);
  for (int term = 1; term < 4; ++term) {
    if (term >= a.terms) continue;
    const Four x = lane_load((const T*)a.x[term] + i * wide, wide);
    for (int k = 0; k < 4; ++k) {
      if (k < wide) y.v[k] = y.v[k] + x.v[k];
    }
  }
  lane_store(LANE_WRITE(y) + i * wide, y, wide);
}

// Zeros for a token that the table does not have.
LANE_KERNEL(embedding, Embedding) {
  const n32 row = n32(i) / n32(a.dim), lane = row / n32(a.each);
  const i64 token = a.tokens[lane * a.token_lane + row % n32(a.each)];
  const bool known = token >= 0 && token < a.vocab;
  LANE_WRITE(y)[i] = known ? LANE_READ(table)[lane * a.stride + token * a.dim + n32(i) % n32(a.dim)] : T(0);
}
LANE_KERNEL(one_hot, Embedding) {
  const n32 row = n32(i) / n32(a.vocab), lane = row / n32(a.each);
  LANE_WRITE(y)[i] = a.tokens[lane * a.token_lane + row % n32(a.each)] == i64(n32(i) % n32(a.vocab)) ? T(1) : T(0);
}

// ---- sums over rows ----

LANE_KERNEL(add_columns, Columns) {
  const int wide = int(a.wide);
  const n32 at = n32(i) * wide;
  const T* by = LANE_READ(by) + at / n32(a.per_lane) * a.stride + at % n32(a.columns);
  Four y = lane_load(LANE_READ(x) + at, wide);
  for (int k = 0; k < 4; ++k) {
    if (k < wide) y.v[k] = y.v[k] + by[k];
  }
  lane_store(LANE_WRITE(y) + at, y, wide);
}
// i counts [lanes, parts, columns].
LANE_KERNEL(column_part, ColumnSum) {
  const i64 c = n32(i) % n32(a.columns), part = n32(i) / n32(a.columns) % n32(a.parts), lane = n32(i) / n32(a.columns) / n32(a.parts);
  const i64 begin = part * a.each, end = begin + a.each < a.rows ? begin + a.each : a.rows;
  const T* x = LANE_READ(x) + lane * a.rows * a.columns + c;
  double sum = 0;
  for (i64 row = begin; row < end; ++row) sum += double(x[row * a.columns]);
  ((double*)a.out)[i] = sum;
}
// Threads share the rows of a column.
LANE_ROW_KERNEL(column_end, ColumnSum) {
  const i64 c = n32(i) % n32(a.columns), lane = n32(i) / n32(a.columns);
  const double* x = (const double*)a.x + lane * a.rows * a.columns + c;
  double sum = 0;
  LANE_ROW_OF(row, a.rows) sum += x[row * a.columns];
  sum = LANE_ROW_SUM(sum);
  if (LANE_ROW_FIRST) LANE_WRITE(out)[i] = T(sum);
}
LANE_ROW_KERNEL(column_whole, ColumnSum) {
  const i64 c = n32(i) % n32(a.columns), lane = n32(i) / n32(a.columns);
  const T* x = LANE_READ(x) + lane * a.rows * a.columns + c;
  double sum = 0;
  LANE_ROW_OF(row, a.rows) sum += double(x[row * a.columns]);
  sum = LANE_ROW_SUM(sum);
  if (LANE_ROW_FIRST) LANE_WRITE(out)[i] = T(sum);
}

// ---- batch norm: distances to the first row, so that equal values have no variance ----

LANE_KERNEL(norm_part, ColumnSum) {
  const i64 c = n32(i) % n32(a.columns), part = n32(i) / n32(a.columns) % n32(a.parts), lane = n32(i) / n32(a.columns) / n32(a.parts);
  const i64 begin = part * a.each, end = begin + a.each < a.rows ? begin + a.each : a.rows;
  const T* x = LANE_READ(x) + lane * a.rows * a.columns + c;
  const double first = double(x[0]);
  double sum = 0, squares = 0;
  for (i64 row = begin; row < end; ++row) {
    const double d = double(x[row * a.columns]) - first;
    sum += d;
    squares += d * d;
  }
  double* out = (double*)a.out + (lane * a.parts + part) * 2 * a.columns;
  out[c] = sum;
  out[a.columns + c] = squares;
}
LANE_ROW_KERNEL(norm_end, NormEnd) {
  const i64 c = n32(i) % n32(a.columns), lane = n32(i) / n32(a.columns);
  double sum = 0, raw = 0;
  LANE_ROW_OF(part, a.parts) {
    const double* sums = a.sums + (lane * a.parts + part) * 2 * a.columns;
    sum += sums[c];
    raw += sums[a.columns + c];
  }
  sum = LANE_ROW_SUM(sum);
  raw = LANE_ROW_SUM(raw);
  if (!LANE_ROW_FIRST) return;
  const double rows = double(a.rows), first = double(LANE_READ(x)[lane * a.rows * a.columns + c]);
  double squares = raw - sum * sum / rows;
  if (squares < 0) squares = 0;
  const T mean = T(first + sum / rows);
  LANE_WRITE(mean)[i] = mean;
  LANE_WRITE(inverse)[i] = T(1 / LANE_SQRT(squares / rows + a.eps));
  const double momentum = a.momentum[lane * a.momentum_stride];
  const T keep = T(1 - momentum), take = T(momentum);
  const i64 old = lane * a.stride + c;
  LANE_WRITE(new_mean)[i] = LANE_READ(old_mean)[old] * keep + mean * take;
  LANE_WRITE(new_var)[i] =
      a.rows > 1 ? LANE_READ(old_var)[old] * keep + T(squares / (rows - 1)) * take : LANE_READ(old_var)[old];
}
LANE_KERNEL(norm_apply, NormApply) {
  const int wide = int(a.wide);
  const n32 at = n32(i) * wide, c = at % n32(a.columns), lane = at / n32(a.rows * a.columns);
  const i64 own = i64(lane) * a.columns + c, set = i64(lane) * a.stride + c;
  Four y = lane_load(LANE_READ(x) + at, wide);
  for (int k = 0; k < 4; ++k) {
    if (k >= wide) continue;
    T slope = LANE_READ(inverse)[own + k];
    if (a.slope) slope = slope * LANE_READ(slope)[set + k];
    y.v[k] = (y.v[k] - LANE_READ(mean)[own + k]) * slope;
    if (a.shift) y.v[k] = y.v[k] + LANE_READ(shift)[set + k];
  }
  lane_store(LANE_WRITE(y) + at, y, wide);
}
LANE_KERNEL(norm_grad_part, ColumnSum) {
  const i64 c = n32(i) % n32(a.columns), part = n32(i) / n32(a.columns) % n32(a.parts), lane = n32(i) / n32(a.columns) / n32(a.parts);
  const i64 begin = part * a.each, end = begin + a.each < a.rows ? begin + a.each : a.rows;
  const T* x = LANE_READ(x) + lane * a.rows * a.columns + c;
  const T* dy = LANE_READ(dy) + lane * a.rows * a.columns + c;
  const T mean = LANE_READ(mean)[lane * a.columns + c];
  double sum = 0, dot = 0;
  for (i64 row = begin; row < end; ++row) {
    const double d = double(dy[row * a.columns]);
    sum += d;
    dot += double(x[row * a.columns] - mean) * d;
  }
  double* out = (double*)a.out + (lane * a.parts + part) * 2 * a.columns;
  out[c] = dot;
  out[a.columns + c] = sum;
}
// The mean and inverse are of what was normalised; new_mean and new_var are the sums, of dy times it and of dy.
LANE_ROW_KERNEL(norm_grad_end, NormEnd) {
  const i64 c = n32(i) % n32(a.columns), lane = n32(i) / n32(a.columns);
  double dot = 0, sum = 0;
  LANE_ROW_OF(part, a.parts) {
    const double* sums = a.sums + (lane * a.parts + part) * 2 * a.columns;
    dot += sums[c];
    sum += sums[a.columns + c];
  }
  dot = LANE_ROW_SUM(dot);
  sum = LANE_ROW_SUM(sum);
  if (!LANE_ROW_FIRST) return;
  LANE_WRITE(new_mean)[i] = T(dot * double(((const T*)a.inverse)[i]));
  LANE_WRITE(new_var)[i] = T(sum);
}
LANE_KERNEL(norm_grad_apply, NormApply) {
  const int wide = int(a.wide);
  const n32 at = n32(i) * wide, c = at % n32(a.columns), lane = at / n32(a.rows * a.columns);
  const i64 own = i64(lane) * a.columns + c;
  const Four x = lane_load(LANE_READ(x) + at, wide), dy = lane_load(LANE_READ(dy) + at, wide);
  Four y = x;
  const T rows = T(a.rows);
  for (int k = 0; k < 4; ++k) {
    if (k >= wide) continue;
    const T inverse = LANE_READ(inverse)[own + k];
    const T slope = a.slope ? inverse * LANE_READ(slope)[i64(lane) * a.stride + c + k] : inverse;
    const T d = x.v[k] - LANE_READ(mean)[own + k];
    y.v[k] = slope * ((dy.v[k] - LANE_READ(sum)[own + k] / rows) - d * (LANE_READ(dot)[own + k] / rows * inverse));
  }
  lane_store(LANE_WRITE(y) + at, y, wide);
}

// ---- rows: as many threads as LANE_ROW_THREADS share one, each with columns of its own, and tell each other sums ----

LANE_ROW_KERNEL(softmax, Rows) {
  const T* x = LANE_READ(x) + i * a.len;
  T* y = LANE_WRITE(y) + i * a.len;
  T most = x[0], sum = T(0);
  LANE_ROW(k) most = x[k] > most || x[k] != x[k] ? x[k] : most;
  most = LANE_ROW_MAX(most);
  LANE_ROW(k) sum += y[k] = LANE_EXP(x[k] - most);
  sum = LANE_ROW_SUM(sum);
  LANE_ROW(k) y[k] = y[k] / sum;
}
LANE_ROW_KERNEL(softmax_grad, Rows) {
  const T* x = LANE_READ(x) + i * a.len;
  const T* dy = LANE_READ(dy) + i * a.len;
  T dot = T(0);
  LANE_ROW(k) dot += x[k] * dy[k];
  dot = LANE_ROW_SUM(dot);
  LANE_ROW(k) LANE_WRITE(y)[i * a.len + k] = x[k] * (dy[k] - dot);
}
LANE_ROW_KERNEL(layer_norm, Rows) {
  const T* x = LANE_READ(x) + i * a.len;
  const i64 own = n32(i) / n32(a.rows_per_lane) * a.stride;
  T sum = T(0), squares = T(0);
  LANE_ROW(k) sum += x[k] - x[0];
  sum = LANE_ROW_SUM(sum);
  const T mean = x[0] + sum / T(a.len);
  LANE_ROW(k) squares += (x[k] - mean) * (x[k] - mean);
  squares = LANE_ROW_SUM(squares);
  const T inverse = T(1) / LANE_SQRT(squares / T(a.len) + T(a.eps));
  LANE_ROW(k) {
    T y = (x[k] - mean) * inverse;
    if (a.weight) y = y * LANE_READ(weight)[own + k] + LANE_READ(bias)[own + k];
    LANE_WRITE(y)[i * a.len + k] = y;
  }
  if (a.mean && LANE_ROW_FIRST) {
    LANE_WRITE(mean)[i] = mean;
    LANE_WRITE(inverse)[i] = inverse;
  }
}
LANE_ROW_KERNEL(layer_norm_grad, Rows) {
  const T* x = LANE_READ(x) + i * a.len;
  const T* dy = LANE_READ(dy) + i * a.len;
  const i64 own = n32(i) / n32(a.rows_per_lane) * a.stride;
  const T mean = LANE_READ(mean)[i], inverse = LANE_READ(inverse)[i];
  T sum = T(0), dot = T(0);
  LANE_ROW(k) {
    const T hat = (x[k] - mean) * inverse, g = a.weight ? dy[k] * LANE_READ(weight)[own + k] : dy[k];
    LANE_WRITE(product)[i * a.len + k] = dy[k] * hat;
    sum += g;
    dot += g * hat;
  }
  sum = LANE_ROW_SUM(sum);
  dot = LANE_ROW_SUM(dot);
  LANE_ROW(k) {
    const T hat = (x[k] - mean) * inverse, g = a.weight ? dy[k] * LANE_READ(weight)[own + k] : dy[k];
    LANE_WRITE(y)[i * a.len + k] = inverse * ((g - sum / T(a.len)) - hat * (dot / T(a.len)));
  }
}

// ---- windows ----

// i counts [lanes, groups, samples, oh, ow, c]; the cells of a window are a loop.
LANE_KERNEL(windows, Windows) {
  n32 rest = n32(i);
  const i64 c = rest % n32(a.each);
  rest /= n32(a.each);
  const i64 window = rest;
  const int q = rest % n32(a.ow);
  rest /= n32(a.ow);
  const int r = rest % n32(a.oh);
  rest /= n32(a.oh);
  const i64 n = rest % n32(a.samples);
  rest /= n32(a.samples);
  const i64 g = rest % n32(a.groups), lane = rest / n32(a.groups);
  const T* x = LANE_READ(x) + lane * a.at.lane + n * a.at.sample + (g * a.each + c) * a.at.channel;
  T* to = LANE_WRITE(y) + window * a.kh * a.kw * a.each + c;
  for (int ky = 0; ky < int(a.kh); ++ky) {
    const int y = lane_source(r * int(a.stride_h) - int(a.top) + ky * int(a.dilation_h), int(a.h), int(a.spread_h));
    for (int kx = 0; kx < int(a.kw); ++kx) {
      const int column =
          lane_source(q * int(a.stride_w) - int(a.left) + kx * int(a.dilation_w), int(a.w), int(a.spread_w));
      *to = y >= 0 && column >= 0 ? x[y * a.at.row + column * a.at.column] : T(0);
      to += a.each;
    }
  }
}

// i counts [lanes, quarter of the pixels, co / 8]: four pixels and eight channels of each; neighbours read the same
// pixels, and what they write lies side by side.
LANE_KERNEL(convolution, Convolution) {
  const n32 pixels = n32(a.samples * a.oh * a.ow), quarter = (pixels + 3) / 4, blocks = n32(a.co) / 8;
  const n32 block = n32(i) % blocks, first = n32(i) / blocks % quarter, lane = n32(i) / blocks / quarter;
  const T* x = LANE_READ(x) + lane * a.at.lane;
  const T* weight = LANE_READ(weight) + lane * a.weight_lane + block * 8;
  T sum[4][8];
  int row[4], column[4];
  const T* image[4];
  for (int j = 0; j < 4; ++j) {
    const n32 pixel = first + j * quarter < pixels ? first + j * quarter : 0;
    const n32 above = pixel / n32(a.ow);
    column[j] = int(pixel % n32(a.ow)) * int(a.stride_w) - int(a.left);
    row[j] = int(above % n32(a.oh)) * int(a.stride_h) - int(a.top);
    image[j] = x + i64(above / n32(a.oh)) * a.at.sample;
    for (int k = 0; k < 8; ++k) sum[j][k] = T(0);
  }
  const int ci = int(a.ci);
  for (int ky = 0; ky < int(a.kh); ++ky) {
    for (int kx = 0; kx < int(a.kw); ++kx) {
      const T* from[4];
      for (int j = 0; j < 4; ++j) {
        const int y = lane_source(row[j] + ky * int(a.dilation_h), int(a.h), int(a.spread_h));
        const int z = lane_source(column[j] + kx * int(a.dilation_w), int(a.w), int(a.spread_w));
        from[j] = y >= 0 && z >= 0 ? image[j] + (y * int(a.at.row) + z * int(a.at.column)) : (const T*)0;
      }
      const T* w = weight + i64(ky * int(a.kw) + kx) * ci * a.co;
      if (a.fours) {
        for (int c = 0; c < ci; c += 4) {
          Four v[4];
          for (int j = 0; j < 4; ++j) {
            if (from[j]) {
              v[j] = *(const Four*)(from[j] + c);
            } else {
              for (int k = 0; k < 4; ++k) v[j].v[k] = T(0);
            }
          }
          for (int k = 0; k < 4; ++k) {
            const Four low = *(const Four*)w, high = *(const Four*)(w + 4);
            w += a.co;
            for (int j = 0; j < 4; ++j) {
              for (int o = 0; o < 4; ++o) {
                sum[j][o] += v[j].v[k] * low.v[o];
                sum[j][4 + o] += v[j].v[k] * high.v[o];
              }
            }
          }
        }
      } else {
        for (int c = 0; c < ci; ++c) {
          const Four low = *(const Four*)w, high = *(const Four*)(w + 4);
          w += a.co;
          for (int j = 0; j < 4; ++j) {
            const T v = from[j] ? from[j][c * a.at.channel] : T(0);
            for (int o = 0; o < 4; ++o) {
              sum[j][o] += v * low.v[o];
              sum[j][4 + o] += v * high.v[o];
            }
          }
        }
      }
    }
  }
  for (int j = 0; j < 4; ++j) {
    const n32 pixel = first + j * quarter;
    if (pixel >= pixels) continue;
    T* to = LANE_WRITE(y) + (i64(lane) * pixels + pixel) * a.co + block * 8;
    for (int half = 0; half < 2; ++half) {
      Four out;
      for (int o = 0; o < 4; ++o) {
        const int k = 4 * half + o;
        out.v[o] = a.bias ? sum[j][k] + LANE_READ(bias)[lane * a.bias_lane + block * 8 + k] : sum[j][k];
      }
      *(Four*)(to + 4 * half) = out;
    }
  }
}

// i counts [lanes, parts, kh, kw, ci in fours, co in eights].
LANE_KERNEL(convolution_grad_w, ConvolutionGrad) {
  const n32 blocks = n32(a.co) / 8, fours = (n32(a.ci) + 3) / 4;
  n32 rest = n32(i);
  const n32 block = rest % blocks;
  rest /= blocks;
  const n32 first = rest % fours * 4;
  rest /= fours;
  const int kx = int(rest % n32(a.kw));
  rest /= n32(a.kw);
  const int ky = int(rest % n32(a.kh));
  rest /= n32(a.kh);
  const n32 part = rest % n32(a.parts), lane = rest / n32(a.parts);
  const n32 rows = n32(a.samples * a.oh * a.ow), begin = part * n32(a.each);
  const n32 end = begin + n32(a.each) < rows ? begin + n32(a.each) : rows;
  const int channels = int(n32(a.ci) - first < 4 ? n32(a.ci) - first : 4);
  T sum[4][8];
  for (int j = 0; j < 4; ++j) {
    for (int k = 0; k < 8; ++k) sum[j][k] = T(0);
  }
  int q = int(begin % n32(a.ow)), r = int(begin / n32(a.ow) % n32(a.oh)), n = int(begin / n32(a.ow) / n32(a.oh));
  const T* x = LANE_READ(x) + lane * a.at.lane + first * a.at.channel;
  const T* dy = LANE_READ(dy) + lane * a.dy_at.lane + block * 8;
  for (n32 at = begin; at < end; at += 4) {
    // All that four rows read, then all that is made of it.
    Four v[4], low[4], high[4];
    for (int u = 0; u < 4; ++u) {
      const int y = r * int(a.stride_h) - int(a.top) + ky * int(a.dilation_h);
      const int z = q * int(a.stride_w) - int(a.left) + kx * int(a.dilation_w);
      const bool inside = at + u < end && (unsigned)y < (unsigned)a.h && (unsigned)z < (unsigned)a.w;
      const T* from = x + (n * int(a.at.sample) + y * int(a.at.row) + z * int(a.at.column));
      const T* back = dy + (n * int(a.dy_at.sample) + r * int(a.dy_at.row) + q * int(a.dy_at.column));
      for (int j = 0; j < 4; ++j) v[u].v[j] = low[u].v[j] = high[u].v[j] = T(0);
      if (inside) {
        low[u] = *(const Four*)back;
        high[u] = *(const Four*)(back + 4);
        if (a.fours) {
          v[u] = *(const Four*)from;
        } else {
          for (int j = 0; j < 4; ++j) v[u].v[j] = j < channels ? from[j * a.at.channel] : T(0);
        }
      }
      if (++q == int(a.ow)) {
        q = 0;
        if (++r == int(a.oh)) {
          r = 0;
          ++n;
        }
      }
    }
    for (int u = 0; u < 4; ++u) {
      for (int j = 0; j < 4; ++j) {
        for (int o = 0; o < 4; ++o) {
          sum[j][o] += v[u].v[j] * low[u].v[o];
          sum[j][4 + o] += v[u].v[j] * high[u].v[o];
        }
      }
    }
  }
  T* to = LANE_WRITE(y) + (((i64(lane) * a.parts + part) * a.kh + ky) * a.kw + kx) * a.ci * a.co;
  for (int j = 0; j < channels; ++j) {
    for (int k = 0; k < 8; ++k) to[(first + j) * a.co + block * 8 + k] = sum[j][k];
  }
}

// i counts [lanes, windows, co, ci].
LANE_KERNEL(turn, Turn) {
  n32 rest = n32(i);
  const i64 c = rest % n32(a.ci);
  rest /= n32(a.ci);
  const i64 o = rest % n32(a.co);
  rest /= n32(a.co);
  const i64 window = rest % n32(a.windows), lane = rest / n32(a.windows);
  LANE_WRITE(y)[i] = LANE_READ(x)[lane * a.lane + ((a.windows - 1 - window) * a.ci + c) * a.co + o];
}

// i counts [lanes, samples, oh, ow, channels].
LANE_KERNEL(depthwise, Depthwise) {
  const int wide = int(a.wide);
  n32 rest = n32(i);
  const i64 c = i64(rest % n32(a.channels / wide)) * wide;
  rest /= n32(a.channels / wide);
  const int q = rest % n32(a.ow);
  rest /= n32(a.ow);
  const int r = rest % n32(a.oh);
  rest /= n32(a.oh);
  const i64 n = rest % n32(a.samples), lane = rest / n32(a.samples);
  const T* x = LANE_READ(x) + lane * a.at.lane + n * a.at.sample + c * a.at.channel;
  const T* weight = LANE_READ(weight) + lane * a.weight_lane + c;
  Four sum;
  for (int k = 0; k < 4; ++k) sum.v[k] = T(0);
  for (int ky = 0; ky < int(a.kh); ++ky) {
    const int y = r * int(a.stride_h) - int(a.top) + ky * int(a.dilation_h);
    if (y < 0 || y >= int(a.h)) continue;
    for (int kx = 0; kx < int(a.kw); ++kx) {
      const int column = q * int(a.stride_w) - int(a.left) + kx * int(a.dilation_w);
      if (column < 0 || column >= int(a.w)) continue;
      const Four v = lane_load(x + y * a.at.row + column * a.at.column, wide);
      const T* w = weight + (ky * int(a.kw) + kx) * a.channels;
      for (int k = 0; k < 4; ++k) {
        if (k < wide) sum.v[k] += v.v[k] * w[k];
      }
    }
  }
  lane_store(LANE_WRITE(y) + i * wide, sum, wide);
}
// i counts [lanes, samples, h, w, channels].
LANE_KERNEL(depthwise_grad_x, Depthwise) {
  const int wide = int(a.wide);
  n32 rest = n32(i);
  const i64 c = i64(rest % n32(a.channels / wide)) * wide;
  rest /= n32(a.channels / wide);
  const int column = rest % n32(a.w);
  rest /= n32(a.w);
  const int row = rest % n32(a.h);
  rest /= n32(a.h);
  const i64 n = rest % n32(a.samples), lane = rest / n32(a.samples);
  const T* dy = LANE_READ(dy) + lane * a.dy_at.lane + n * a.dy_at.sample + c * a.dy_at.channel;
  const T* weight = LANE_READ(weight) + lane * a.weight_lane + c;
  Four sum;
  for (int k = 0; k < 4; ++k) sum.v[k] = T(0);
  for (int ky = 0; ky < int(a.kh); ++ky) {
    const int r = lane_source(row + int(a.top) - ky * int(a.dilation_h), int(a.oh), int(a.stride_h));
    if (r < 0) continue;
    for (int kx = 0; kx < int(a.kw); ++kx) {
      const int q = lane_source(column + int(a.left) - kx * int(a.dilation_w), int(a.ow), int(a.stride_w));
      if (q < 0) continue;
      const Four v = lane_load(dy + r * a.dy_at.row + q * a.dy_at.column, wide);
      const T* w = weight + (ky * int(a.kw) + kx) * a.channels;
      for (int k = 0; k < 4; ++k) {
        if (k < wide) sum.v[k] += v.v[k] * w[k];
      }
    }
  }
  lane_store(LANE_WRITE(y) + i * wide, sum, wide);
}
// i counts [lanes, parts, kh, kw, channels]; a part is some rows of the output of all samples.
LANE_KERNEL(depthwise_grad_w, Depthwise) {
  n32 rest = n32(i);
  const i64 c = rest % n32(a.channels);
  rest /= n32(a.channels);
  const int kx = rest % n32(a.kw);
  rest /= n32(a.kw);
  const int ky = rest % n32(a.kh);
  rest /= n32(a.kh);
  const i64 part = rest % n32(a.parts), lane = rest / n32(a.parts);
  const i64 rows = a.samples * a.oh, begin = part * a.each, end = begin + a.each < rows ? begin + a.each : rows;
  T sum = T(0);
  for (i64 at = begin; at < end; ++at) {
    const int n = int(n32(at) / n32(a.oh)), r = int(n32(at) % n32(a.oh));
    const int y = r * int(a.stride_h) - int(a.top) + ky * int(a.dilation_h);
    if (y < 0 || y >= int(a.h)) continue;
    const T* x = LANE_READ(x) + lane * a.at.lane + n * a.at.sample + c * a.at.channel + y * a.at.row;
    const T* dy = LANE_READ(dy) + lane * a.dy_at.lane + n * a.dy_at.sample + c * a.dy_at.channel + r * a.dy_at.row;
    for (int q = 0; q < int(a.ow); ++q) {
      const int column = q * int(a.stride_w) - int(a.left) + kx * int(a.dilation_w);
      if (column >= 0 && column < int(a.w)) sum += x[column * int(a.at.column)] * dy[q * int(a.dy_at.column)];
    }
  }
  LANE_WRITE(y)[i] = sum;
}

// ---- pools: i counts what is written, channels last ----

LANE_KERNEL(max_pool, Pool) {
  const int wide = int(a.wide);
  n32 rest = n32(i);
  const i64 c = i64(rest % n32(a.channels / wide)) * wide;
  rest /= n32(a.channels / wide);
  const int q = rest % n32(a.ow);
  rest /= n32(a.ow);
  const int r = rest % n32(a.oh);
  rest /= n32(a.oh);
  const i64 n = rest % n32(a.samples), lane = rest / n32(a.samples);
  const T* x = LANE_READ(x) + lane * a.at.lane + n * a.at.sample + c * a.at.channel;
  Four best;
  int where[4];
  for (int k = 0; k < 4; ++k) {
    best.v[k] = -LANE_INFINITY;
    where[k] = 255;
  }
  for (int ky = 0; ky < int(a.kh); ++ky) {
    const int y = r * int(a.stride_h) - int(a.top) + ky;
    if (y < 0 || y >= int(a.h)) continue;
    for (int kx = 0; kx < int(a.kw); ++kx) {
      const int column = q * int(a.stride_w) - int(a.left) + kx;
      if (column < 0 || column >= int(a.w)) continue;
      const Four v = lane_load(x + y * a.at.row + column * a.at.column, wide);
      for (int k = 0; k < 4; ++k) {
        if (k < wide && (v.v[k] > best.v[k] || v.v[k] != v.v[k] || where[k] == 255)) {
          best.v[k] = v.v[k];
          where[k] = ky * int(a.kw) + kx;
        }
      }
    }
  }
  lane_store(LANE_WRITE(y) + i * wide, best, wide);
  if (a.where && wide == 4) {
    u32 all = 0;
    for (int k = 0; k < 4; ++k) all |= u32(where[k]) << (8 * k);
    *(u32*)(a.where + i * 4) = all;
  } else if (a.where) {
    a.where[i] = (unsigned char)where[0];
  }
}
LANE_KERNEL(max_pool_grad, Pool) {
  const int wide = int(a.wide);
  n32 rest = n32(i);
  const i64 c = i64(rest % n32(a.channels / wide)) * wide;
  rest /= n32(a.channels / wide);
  const int column = rest % n32(a.w);
  rest /= n32(a.w);
  const int row = rest % n32(a.h);
  rest /= n32(a.h);
  const i64 n = rest % n32(a.samples), lane = rest / n32(a.samples);
  const T* dy = LANE_READ(x) + lane * a.at.lane + n * a.at.sample + c * a.at.channel;
  const unsigned char* where = a.where + lane * a.where_at.lane + n * a.where_at.sample + c * a.where_at.channel;
  Four sum;
  for (int k = 0; k < 4; ++k) sum.v[k] = T(0);
  const Holders down = lane_holders(row + int(a.top), int(a.stride_h));
  const Holders right = lane_holders(column + int(a.left), int(a.stride_w));
  const bool bytes = wide == 4 && a.where_at.channel == 1;
  // Cells in their order, so the last window first.
  for (int ky = down.cell, r = down.window; ky < int(a.kh) && r >= 0; ky += int(a.stride_h), --r) {
    if (r >= int(a.oh)) continue;
    for (int kx = right.cell, q = right.window; kx < int(a.kw) && q >= 0; kx += int(a.stride_w), --q) {
      if (q >= int(a.ow)) continue;
      const unsigned char* at = where + r * a.where_at.row + q * a.where_at.column;
      const Four v = lane_load(dy + r * a.at.row + q * a.at.column, wide);
      const u32 cell = u32(ky * int(a.kw) + kx), all = bytes ? *(const u32*)at : 0;
      for (int k = 0; k < 4; ++k) {
        if (k < wide && (bytes ? all >> (8 * k) & 255u : u32(at[k * a.where_at.channel])) == cell) sum.v[k] += v.v[k];
      }
    }
  }
  lane_store(LANE_WRITE(y) + i * wide, sum, wide);
}
// Cells that a window's mean is taken over along one axis: those inside, or inside the padding too.
LANE_FN int lane_reach(int first, int window, int size, int behind, bool padding) {
  const int begin = padding || first > 0 ? first : 0, bound = size + (padding ? behind : 0);
  return (first + window < bound ? first + window : bound) - begin;
}
LANE_FN T lane_divisor(const Pool& a, int r, int q) {
  const int cells =
      lane_reach(r * int(a.stride_h) - int(a.top), int(a.kh), int(a.h), int(a.bottom), a.padding != 0) *
      lane_reach(q * int(a.stride_w) - int(a.left), int(a.kw), int(a.w), int(a.right), a.padding != 0);
  return T(cells < 1 ? 1 : cells);
}
LANE_KERNEL(avg_pool, Pool) {
  const int wide = int(a.wide);
  n32 rest = n32(i);
  const i64 c = i64(rest % n32(a.channels / wide)) * wide;
  rest /= n32(a.channels / wide);
  const int q = rest % n32(a.ow);
  rest /= n32(a.ow);
  const int r = rest % n32(a.oh);
  rest /= n32(a.oh);
  const i64 n = rest % n32(a.samples), lane = rest / n32(a.samples);
  const T* x = LANE_READ(x) + lane * a.at.lane + n * a.at.sample + c * a.at.channel;
  Four sum;
  for (int k = 0; k < 4; ++k) sum.v[k] = T(0);
  for (int ky = 0; ky < int(a.kh); ++ky) {
    const int y = r * int(a.stride_h) - int(a.top) + ky;
    if (y < 0 || y >= int(a.h)) continue;
    for (int kx = 0; kx < int(a.kw); ++kx) {
      const int column = q * int(a.stride_w) - int(a.left) + kx;
      if (column < 0 || column >= int(a.w)) continue;
      const Four v = lane_load(x + y * a.at.row + column * a.at.column, wide);
      for (int k = 0; k < 4; ++k) {
        if (k < wide) sum.v[k] += v.v[k];
      }
    }
  }
  const T cells = T(1) / lane_divisor(a, r, q);
  for (int k = 0; k < 4; ++k) {
    if (k < wide) sum.v[k] = sum.v[k] * cells;
  }
  lane_store(LANE_WRITE(y) + i * wide, sum, wide);
}
LANE_KERNEL(avg_pool_grad, Pool) {
  const int wide = int(a.wide);
  n32 rest = n32(i);
  const i64 c = i64(rest % n32(a.channels / wide)) * wide;
  rest /= n32(a.channels / wide);
  const int column = rest % n32(a.w);
  rest /= n32(a.w);
  const int row = rest % n32(a.h);
  rest /= n32(a.h);
  const i64 n = rest % n32(a.samples), lane = rest / n32(a.samples);
  const T* dy = LANE_READ(x) + lane * a.at.lane + n * a.at.sample + c * a.at.channel;
  Four sum;
  for (int k = 0; k < 4; ++k) sum.v[k] = T(0);
  const Holders down = lane_holders(row + int(a.top), int(a.stride_h));
  const Holders right = lane_holders(column + int(a.left), int(a.stride_w));
  for (int ky = down.cell, r = down.window; ky < int(a.kh) && r >= 0; ky += int(a.stride_h), --r) {
    if (r >= int(a.oh)) continue;
    for (int kx = right.cell, q = right.window; kx < int(a.kw) && q >= 0; kx += int(a.stride_w), --q) {
      if (q >= int(a.ow)) continue;
      const Four v = lane_load(dy + r * a.at.row + q * a.at.column, wide);
      const T cells = T(1) / lane_divisor(a, r, q);
      for (int k = 0; k < 4; ++k) {
        if (k < wide) sum.v[k] += v.v[k] * cells;
      }
    }
  }
  lane_store(LANE_WRITE(y) + i * wide, sum, wide);
}

// ---- losses ----

// i counts samples of all lanes; threads share the classes.
LANE_ROW_KERNEL(cross_entropy, CrossEntropy) {
  const i64 lane = n32(i) / n32(a.samples), sample = n32(i) % n32(a.samples);
  const T smoothing = T(a.smoothing[lane * a.smoothing_lane]), hard = T(1) - smoothing, soft = smoothing / T(a.classes);
  T total = T(0);
  for (i64 position = 0; position < a.positions; ++position) {
    const i64 row = i * a.positions + position;
    const T* x = LANE_READ(x) + row * a.classes;
    T* p = LANE_WRITE(y) + row * a.classes;
    T most = x[0], sum = T(0), all = T(0);
    LANE_ROW_OF(k, a.classes) most = x[k] > most || x[k] != x[k] ? x[k] : most;
    most = LANE_ROW_MAX(most);
    LANE_ROW_OF(k, a.classes) {
      const T z = x[k] - most;
      all += z;
      sum += p[k] = LANE_EXP(z);
    }
    sum = LANE_ROW_SUM(sum);
    all = LANE_ROW_SUM(all);
    LANE_ROW_OF(k, a.classes) p[k] = p[k] / sum;
    const i64 label = a.labels[lane * a.label_lane + sample * a.positions + position];
    total += LANE_LOG(sum) - (hard * (x[label] - most) + (smoothing == T(0) ? T(0) : soft * all));
  }
  T loss = total / T(a.positions);
  if (a.weights) loss = loss * LANE_READ(weights)[i];
  if (LANE_ROW_FIRST) LANE_WRITE(loss)[i] = loss;
}
// i counts numbers.
LANE_KERNEL(cross_entropy_grad, CrossEntropy) {
  const i64 k = n32(i) % n32(a.classes), row = n32(i) / n32(a.classes), sample = n32(row) / n32(a.positions),
            lane = n32(sample) / n32(a.samples);
  const T smoothing = T(a.smoothing[lane * a.smoothing_lane]), hard = T(1) - smoothing, soft = smoothing / T(a.classes);
  const i64 label = a.labels[lane * a.label_lane + row - lane * a.samples * a.positions];
  T y = (LANE_READ(x)[i] - (label == k ? hard + soft : soft)) * T(a.share);
  if (a.weights) y = y * LANE_READ(weights)[sample];
  LANE_WRITE(y)[i] = y;
}

// ---- the end of a step ----

#define LANE_HYPER(column) T(a.hyper[lane * a.columns + column])
// The stretch that an element of a lane belongs to.
LANE_FN int lane_item(const Stretches& of, i64 element) {
  int low = 0, high = of.items - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (of.first[middle] <= element) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}
#define LANE_UPDATE                                                                              \
  const i64 lane = n32(i) / n32(a.of.count), element = n32(i) % n32(a.of.count);                 \
  if (a.active[lane] == 0) return;                                                               \
  const int item = lane_item(a.of, element);                                                     \
  const i64 own = element - a.of.first[item], at = lane * a.lane + a.of.begin[item] + own;       \
  T g = ((const T*)a.of.from[item])[lane * a.of.from_lane[item] + own];                          \
  if (a.scale) g = g * LANE_READ(scale)[lane];                                                   \
  T* const parameter = LANE_WRITE(parameters) + at;                                              \
  const T p = *parameter;
#define LANE_SLOT(k) (((T*)a.slots[k])[at])
// A lane without decay does not look at the parameter.
#define LANE_DECAYED \
  if (LANE_HYPER(lane_decay) != T(0)) g = LANE_HYPER(lane_decay) * p + g;

// Columns of the table (UpdateHyper::Column).
enum {
  lane_rate,
  lane_adam_rate,
  lane_momentum,
  lane_decay,
  lane_shrink,
  lane_beta1,
  lane_take1,
  lane_beta2,
  lane_take2,
  lane_root,
  lane_eps,
  lane_nesterov,
  lane_first
};

LANE_KERNEL(update_sgd, Update) {
  LANE_UPDATE LANE_DECAYED
  const T mu = LANE_HYPER(lane_momentum);
  T step = g;
  if (mu != T(0)) {
    const T momentum = LANE_HYPER(lane_first) != T(0) ? g : mu * LANE_SLOT(0) + g;
    LANE_SLOT(0) = momentum;
    step = LANE_HYPER(lane_nesterov) != T(0) ? mu * momentum + g : momentum;
  }
  *parameter = LANE_HYPER(lane_rate) * step + p;
}
LANE_KERNEL(update_adam, Update) {
  LANE_UPDATE LANE_DECAYED
  const T m = LANE_HYPER(lane_beta1) * LANE_SLOT(0) + LANE_HYPER(lane_take1) * g;
  const T v = LANE_HYPER(lane_beta2) * LANE_SLOT(1) + (LANE_HYPER(lane_take2) * g) * g;
  LANE_SLOT(0) = m;
  LANE_SLOT(1) = v;
  *parameter =
      LANE_HYPER(lane_adam_rate) * (m / (LANE_SQRT(v) / LANE_HYPER(lane_root) + LANE_HYPER(lane_eps))) + p;
}
LANE_KERNEL(update_adamw, Update) {
  LANE_UPDATE
  const T m = LANE_HYPER(lane_beta1) * LANE_SLOT(0) + LANE_HYPER(lane_take1) * g;
  const T v = LANE_HYPER(lane_beta2) * LANE_SLOT(1) + (LANE_HYPER(lane_take2) * g) * g;
  LANE_SLOT(0) = m;
  LANE_SLOT(1) = v;
  const T shrunk = LANE_HYPER(lane_decay) != T(0) ? p * LANE_HYPER(lane_shrink) : p;
  *parameter =
      LANE_HYPER(lane_adam_rate) * (m / (LANE_SQRT(v) / LANE_HYPER(lane_root) + LANE_HYPER(lane_eps))) + shrunk;
}
LANE_KERNEL(update_lion, Update) {
  LANE_UPDATE
  const T toward = LANE_HYPER(lane_beta1) * LANE_SLOT(0) + LANE_HYPER(lane_take1) * g;
  const T sign = toward > T(0) ? T(1) : toward < T(0) ? T(-1) : toward;
  LANE_SLOT(0) = LANE_HYPER(lane_beta2) * LANE_SLOT(0) + LANE_HYPER(lane_take2) * g;
  *parameter = LANE_HYPER(lane_rate) * sign + p * LANE_HYPER(lane_shrink);
}
LANE_KERNEL(update_rmsprop, Update) {
  LANE_UPDATE LANE_DECAYED
  const T square = LANE_HYPER(lane_beta2) * LANE_SLOT(0) + (LANE_HYPER(lane_take2) * g) * g;
  LANE_SLOT(0) = square;
  T step = g / (LANE_SQRT(square) + LANE_HYPER(lane_eps));
  if (LANE_HYPER(lane_momentum) != T(0)) {
    step = LANE_HYPER(lane_momentum) * LANE_SLOT(1) + step;
    LANE_SLOT(1) = step;
  }
  *parameter = LANE_HYPER(lane_rate) * step + p;
}
LANE_KERNEL(renew, Renew) {
  const i64 lane = n32(i) / n32(a.of.count), element = n32(i) % n32(a.of.count);
  if (a.active[lane] == 0) return;
  const int item = lane_item(a.of, element);
  const i64 own = element - a.of.first[item];
  LANE_WRITE(to)[lane * a.lane + a.of.begin[item] + own] =
      ((const T*)a.of.from[item])[lane * a.of.from_lane[item] + own];
}
// i is a lane; rows of totals: sum of losses, last loss, first bad step.
LANE_KERNEL(note, Note) {
  if (a.active[i] == 0) return;
  double sum = 0;
  for (i64 n = 0; n < a.samples; ++n) sum += double(LANE_READ(losses)[i * a.samples + n]);
  const double loss = sum / double(a.samples);
  a.totals[i] += loss * double(a.samples);
  a.totals[a.lanes + i] = loss;
  if (!(loss - loss == 0) && a.totals[2 * a.lanes + i] < 0) a.totals[2 * a.lanes + i] = double(a.step[0]);
}
// i counts [lanes, parts].
LANE_KERNEL(clip_part, Clip) {
  const i64 lane = i / a.parts;
  double sum = 0;
  for (i64 k = i % a.parts; k < a.count; k += a.parts) {
    const double g = double(LANE_READ(gradients)[lane * a.lane + k]);
    sum += g * g;
  }
  a.partial[i] = sum;
}
LANE_KERNEL(clip_end, Clip) {
  double sum = 0;
  for (i64 k = 0; k < a.parts; ++k) sum += a.partial[i * a.parts + k];
  const double clip = a.hyper[i * a.columns + a.clip], wanted = clip / (LANE_SQRT(sum) + 1e-6);
  LANE_WRITE(scale)[i] = clip > 0 && !(wanted >= 1) ? T(wanted) : T(1);
}

// ---- masks: Philox4x32-10 as kernels::dropout_keeps has it ----

LANE_FN void lane_philox(u64 key, u64 high, u64 low, u32* c) {
  u32 k0 = u32(key), k1 = u32(key >> 32);
  c[0] = u32(low);
  c[1] = u32(low >> 32);
  c[2] = u32(high);
  c[3] = u32(high >> 32);
  for (int round = 0; round < 10; ++round) {
    const u64 p0 = u64(0xD2511F53u) * c[0], p1 = u64(0xCD9E8D57u) * c[2];
    const u32 a = u32(p1 >> 32) ^ c[1] ^ k0, b = u32(p0 >> 32) ^ c[3] ^ k1;
    c[1] = u32(p1);
    c[3] = u32(p0);
    c[0] = a;
    c[2] = b;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}
LANE_KERNEL(dropout, Dropout) {
  const i64 element = i % a.each, n = i / a.each % a.batch, lane = i / a.each / a.batch;
  if (a.active[lane] == 0) {
    LANE_WRITE(y)[i] = T(0);
    return;
  }
  u32 words[4];
  lane_philox(u64(a.keys[2 * lane]), u64(a.origin), u64(a.keys[2 * lane + 1]), words);
  const u64 stream = (u64(words[1]) << 32) | words[0];
  lane_philox(stream, u64(a.samples[lane * a.sample_lane + n]), u64(element / 32 * 8 + element % 8), words);
  const double keep = 1.0 - a.numbers[lane * a.number_lane];
  const bool keeps = words[element / 8 % 4] * (1.0 / 4294967296.0) < keep;
  LANE_WRITE(y)[i] = keeps ? LANE_READ(x)[i] * T(1.0 / keep) : T(0);
}
// NOLINTEND
