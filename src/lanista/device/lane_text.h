// Kernels of lanes: each stands for many calls of ATen. One thread makes one number, or a few that nobody else makes,
// and reads nothing that a neighbour writes, so the order of threads is of no account and there is nothing to wait for.
// The host compiles the same text (lane_kernels.cpp), where a kernel is a loop over its threads; a GPU's driver gets it
// as text (lane_source.h). T is the type of values; LANE_KERNEL(name, Arguments) { … } has its number `i` and `a`.
// NOLINTBEGIN

LANE_FN T lane_sigmoid(T x) { return T(1) / (LANE_EXP(-x) + T(1)); }

// ---- element by element ----

LANE_KERNEL(relu, Elementwise) {
  const T x = LANE_READ(x)[i];
  LANE_WRITE(y)[i] = x <= T(0) ? T(0) : x;
}
LANE_KERNEL(relu_grad, Elementwise) { LANE_WRITE(y)[i] = LANE_READ(x)[i] <= T(0) ? T(0) : LANE_READ(dy)[i]; }
LANE_KERNEL(clip, Elementwise) {
  T x = LANE_READ(x)[i];
  if (x < T(a.a)) x = T(a.a);
  if (x > T(a.b)) x = T(a.b);
  LANE_WRITE(y)[i] = x;
}
LANE_KERNEL(clip_grad, Elementwise) {
  const T x = LANE_READ(x)[i];
  LANE_WRITE(y)[i] = x <= T(a.a) || x >= T(a.b) ? T(0) : LANE_READ(dy)[i];
}
LANE_FN T lane_gelu_gate(T x) { return lane_sigmoid((x * T(1.5957691216057307)) * (x * x * T(0.044715) + T(1))); }
LANE_KERNEL(gelu, Elementwise) {
  const T x = LANE_READ(x)[i];
  LANE_WRITE(y)[i] = x * lane_gelu_gate(x);
}
LANE_KERNEL(gelu_grad, Elementwise) {
  const T x = LANE_READ(x)[i], gate = lane_gelu_gate(x);
  const T slope = x * x * T(3 * 0.044715 * 1.5957691216057307) + T(1.5957691216057307);
  LANE_WRITE(y)[i] = LANE_READ(dy)[i] * ((x * slope) * (gate * (T(1) - gate)) + gate);
}
LANE_KERNEL(silu, Elementwise) {
  const T x = LANE_READ(x)[i];
  LANE_WRITE(y)[i] = x * lane_sigmoid(x);
}
LANE_KERNEL(silu_grad, Elementwise) {
  const T x = LANE_READ(x)[i], gate = lane_sigmoid(x);
  LANE_WRITE(y)[i] = LANE_READ(dy)[i] * (x * (gate * (T(1) - gate)) + gate);
}
LANE_KERNEL(hard_swish, Elementwise) {
  const T x = LANE_READ(x)[i];
  T gate = x * T(1.0 / 6) + T(0.5);
  if (gate < T(0)) gate = T(0);
  if (gate > T(1)) gate = T(1);
  LANE_WRITE(y)[i] = x * gate;
}
LANE_KERNEL(hard_swish_grad, Elementwise) {
  const T x = LANE_READ(x)[i], dy = LANE_READ(dy)[i];
  LANE_WRITE(y)[i] = x <= T(-3) ? T(0) : x >= T(3) ? dy : dy * (x * T(1.0 / 3) + T(0.5));
}

// ---- sums over rows ----

LANE_KERNEL(add_columns, Columns) {
  LANE_WRITE(y)[i] = LANE_READ(x)[i] + LANE_READ(by)[n32(i) / n32(a.per_lane) * a.stride + n32(i) % n32(a.columns)];
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
LANE_KERNEL(column_fold, ColumnSum) {
  const i64 c = n32(i) % n32(a.columns), part = n32(i) / n32(a.columns) % n32(a.parts), lane = n32(i) / n32(a.columns) / n32(a.parts);
  const i64 begin = part * a.each, end = begin + a.each < a.rows ? begin + a.each : a.rows;
  const double* x = (const double*)a.x + lane * a.rows * a.columns + c;
  double sum = 0;
  for (i64 row = begin; row < end; ++row) sum += x[row * a.columns];
  ((double*)a.out)[i] = sum;
}
LANE_KERNEL(column_end, ColumnSum) {
  const i64 c = n32(i) % n32(a.columns), lane = n32(i) / n32(a.columns);
  const double* x = (const double*)a.x + lane * a.rows * a.columns + c;
  double sum = 0;
  for (i64 row = 0; row < a.rows; ++row) sum += x[row * a.columns];
  LANE_WRITE(out)[i] = T(sum);
}
LANE_KERNEL(column_whole, ColumnSum) {
  const i64 c = n32(i) % n32(a.columns), lane = n32(i) / n32(a.columns);
  const T* x = LANE_READ(x) + lane * a.rows * a.columns + c;
  double sum = 0;
  for (i64 row = 0; row < a.rows; ++row) sum += double(x[row * a.columns]);
  LANE_WRITE(out)[i] = T(sum);
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
LANE_KERNEL(norm_end, NormEnd) {
  const i64 c = n32(i) % n32(a.columns), lane = n32(i) / n32(a.columns);
  const double* sums = a.sums + lane * 2 * a.columns;
  const double rows = double(a.rows), first = double(LANE_READ(x)[lane * a.rows * a.columns + c]);
  double squares = sums[a.columns + c] - sums[c] * sums[c] / rows;
  if (squares < 0) squares = 0;
  const T mean = T(first + sums[c] / rows);
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
  const i64 c = n32(i) % n32(a.columns), lane = n32(i) / n32(a.rows * a.columns), own = lane * a.columns + c, set = lane * a.stride + c;
  T slope = LANE_READ(inverse)[own];
  if (a.slope) slope = slope * LANE_READ(slope)[set];
  T y = (LANE_READ(x)[i] - LANE_READ(mean)[own]) * slope;
  if (a.shift) y = y + LANE_READ(shift)[set];
  LANE_WRITE(y)[i] = y;
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
LANE_KERNEL(norm_grad_end, NormEnd) {
  const i64 c = n32(i) % n32(a.columns), lane = n32(i) / n32(a.columns);
  const double* sums = a.sums + lane * 2 * a.columns;
  LANE_WRITE(new_mean)[i] = T(sums[c] * double(((const T*)a.inverse)[i]));
  LANE_WRITE(new_var)[i] = T(sums[a.columns + c]);
}
LANE_KERNEL(norm_grad_apply, NormApply) {
  const i64 c = n32(i) % n32(a.columns), lane = n32(i) / n32(a.rows * a.columns), own = lane * a.columns + c;
  const T inverse = LANE_READ(inverse)[own], rows = T(a.rows);
  const T slope = a.slope ? inverse * LANE_READ(slope)[lane * a.stride + c] : inverse;
  const T d = LANE_READ(x)[i] - LANE_READ(mean)[own];
  LANE_WRITE(y)[i] =
      slope * ((LANE_READ(dy)[i] - LANE_READ(sum)[own] / rows) - d * (LANE_READ(dot)[own] / rows * inverse));
}

// ---- rows ----

LANE_KERNEL(softmax, Rows) {
  const T* x = LANE_READ(x) + i * a.len;
  T* y = LANE_WRITE(y) + i * a.len;
  T most = x[0], sum = T(0);
  for (i64 k = 1; k < a.len; ++k) most = x[k] > most || x[k] != x[k] ? x[k] : most;
  for (i64 k = 0; k < a.len; ++k) sum += y[k] = LANE_EXP(x[k] - most);
  for (i64 k = 0; k < a.len; ++k) y[k] = y[k] / sum;
}
LANE_KERNEL(softmax_grad, Rows) {
  const T* x = LANE_READ(x) + i * a.len;
  const T* dy = LANE_READ(dy) + i * a.len;
  T dot = T(0);
  for (i64 k = 0; k < a.len; ++k) dot += x[k] * dy[k];
  for (i64 k = 0; k < a.len; ++k) LANE_WRITE(y)[i * a.len + k] = x[k] * (dy[k] - dot);
}
LANE_KERNEL(layer_norm, Rows) {
  const T* x = LANE_READ(x) + i * a.len;
  const i64 own = i / a.rows_per_lane * a.stride;
  T sum = T(0), squares = T(0);
  for (i64 k = 0; k < a.len; ++k) sum += x[k] - x[0];
  const T mean = x[0] + sum / T(a.len);
  for (i64 k = 0; k < a.len; ++k) squares += (x[k] - mean) * (x[k] - mean);
  const T inverse = T(1) / LANE_SQRT(squares / T(a.len) + T(a.eps));
  for (i64 k = 0; k < a.len; ++k) {
    T y = (x[k] - mean) * inverse;
    if (a.weight) y = y * LANE_READ(weight)[own + k] + LANE_READ(bias)[own + k];
    LANE_WRITE(y)[i * a.len + k] = y;
  }
  if (a.mean) {
    LANE_WRITE(mean)[i] = mean;
    LANE_WRITE(inverse)[i] = inverse;
  }
}
LANE_KERNEL(layer_norm_grad, Rows) {
  const T* x = LANE_READ(x) + i * a.len;
  const T* dy = LANE_READ(dy) + i * a.len;
  const i64 own = i / a.rows_per_lane * a.stride;
  const T mean = LANE_READ(mean)[i], inverse = LANE_READ(inverse)[i];
  T sum = T(0), dot = T(0);
  for (i64 k = 0; k < a.len; ++k) {
    const T hat = (x[k] - mean) * inverse, g = a.weight ? dy[k] * LANE_READ(weight)[own + k] : dy[k];
    LANE_WRITE(product)[i * a.len + k] = dy[k] * hat;
    sum += g;
    dot += g * hat;
  }
  for (i64 k = 0; k < a.len; ++k) {
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
  const i64 q = rest % n32(a.ow);
  rest /= n32(a.ow);
  const i64 r = rest % n32(a.oh);
  rest /= n32(a.oh);
  const i64 n = rest % n32(a.samples);
  rest /= n32(a.samples);
  const i64 g = rest % n32(a.groups), lane = rest / n32(a.groups);
  const T* x = LANE_READ(x) + lane * a.at.lane + n * a.at.sample + (g * a.each + c) * a.at.channel;
  T* to = LANE_WRITE(y) + window * a.kh * a.kw * a.each + c;
  const i64 high = a.h * a.spread_h, wide = a.w * a.spread_w;
  for (i64 ky = 0; ky < a.kh; ++ky) {
    const i64 y = r * a.stride_h - a.top + ky * a.dilation_h;
    const bool rows = y >= 0 && y < high && (a.spread_h == 1 || y % a.spread_h == 0);
    for (i64 kx = 0; kx < a.kw; ++kx) {
      const i64 column = q * a.stride_w - a.left + kx * a.dilation_w;
      const bool inside = rows && column >= 0 && column < wide && (a.spread_w == 1 || column % a.spread_w == 0);
      *to = inside ? x[(a.spread_h == 1 ? y : y / a.spread_h) * a.at.row +
                       (a.spread_w == 1 ? column : column / a.spread_w) * a.at.column]
                   : T(0);
      to += a.each;
    }
  }
}

// i counts [lanes, samples, oh, ow, channels].
LANE_KERNEL(depthwise, Depthwise) {
  n32 rest = n32(i);
  const i64 c = rest % n32(a.channels);
  rest /= n32(a.channels);
  const i64 q = rest % n32(a.ow);
  rest /= n32(a.ow);
  const i64 r = rest % n32(a.oh);
  rest /= n32(a.oh);
  const i64 n = rest % n32(a.samples), lane = rest / n32(a.samples);
  const T* x = LANE_READ(x) + lane * a.at.lane + n * a.at.sample + c * a.at.channel;
  const T* weight = LANE_READ(weight) + lane * a.weight_lane + c;
  T sum = T(0);
  for (i64 ky = 0; ky < a.kh; ++ky) {
    const i64 y = r * a.stride_h - a.top + ky * a.dilation_h;
    if (y < 0 || y >= a.h) continue;
    for (i64 kx = 0; kx < a.kw; ++kx) {
      const i64 column = q * a.stride_w - a.left + kx * a.dilation_w;
      if (column < 0 || column >= a.w) continue;
      sum += x[y * a.at.row + column * a.at.column] * weight[(ky * a.kw + kx) * a.channels];
    }
  }
  LANE_WRITE(y)[i] = sum;
}
// i counts [lanes, samples, h, w, channels].
LANE_KERNEL(depthwise_grad_x, Depthwise) {
  n32 rest = n32(i);
  const i64 c = rest % n32(a.channels);
  rest /= n32(a.channels);
  const i64 column = rest % n32(a.w);
  rest /= n32(a.w);
  const i64 row = rest % n32(a.h);
  rest /= n32(a.h);
  const i64 n = rest % n32(a.samples), lane = rest / n32(a.samples);
  const T* dy = LANE_READ(dy) + lane * a.dy_at.lane + n * a.dy_at.sample + c * a.dy_at.channel;
  const T* weight = LANE_READ(weight) + lane * a.weight_lane + c;
  T sum = T(0);
  for (i64 ky = 0; ky < a.kh; ++ky) {
    const i64 y = row + a.top - ky * a.dilation_h;
    if (y < 0 || y % a.stride_h != 0 || y / a.stride_h >= a.oh) continue;
    for (i64 kx = 0; kx < a.kw; ++kx) {
      const i64 x = column + a.left - kx * a.dilation_w;
      if (x < 0 || x % a.stride_w != 0 || x / a.stride_w >= a.ow) continue;
      sum += dy[y / a.stride_h * a.dy_at.row + x / a.stride_w * a.dy_at.column] *
             weight[(ky * a.kw + kx) * a.channels];
    }
  }
  LANE_WRITE(y)[i] = sum;
}
// i counts [lanes, parts, kh, kw, channels]; a part is some rows of the output of all samples.
LANE_KERNEL(depthwise_grad_w, Depthwise) {
  n32 rest = n32(i);
  const i64 c = rest % n32(a.channels);
  rest /= n32(a.channels);
  const i64 kx = rest % n32(a.kw);
  rest /= n32(a.kw);
  const i64 ky = rest % n32(a.kh);
  rest /= n32(a.kh);
  const i64 part = rest % n32(a.parts), lane = rest / n32(a.parts);
  const i64 rows = a.samples * a.oh, begin = part * a.each, end = begin + a.each < rows ? begin + a.each : rows;
  double sum = 0;
  for (i64 at = begin; at < end; ++at) {
    const i64 n = at / a.oh, r = at % a.oh, y = r * a.stride_h - a.top + ky * a.dilation_h;
    if (y < 0 || y >= a.h) continue;
    const T* x = LANE_READ(x) + lane * a.at.lane + n * a.at.sample + c * a.at.channel + y * a.at.row;
    const T* dy = LANE_READ(dy) + lane * a.dy_at.lane + n * a.dy_at.sample + c * a.dy_at.channel + r * a.dy_at.row;
    for (i64 q = 0; q < a.ow; ++q) {
      const i64 column = q * a.stride_w - a.left + kx * a.dilation_w;
      if (column >= 0 && column < a.w) sum += double(x[column * a.at.column]) * double(dy[q * a.dy_at.column]);
    }
  }
  ((double*)a.y)[i] = sum;
}

// ---- pools: i counts what is written, channels last ----

LANE_KERNEL(max_pool, Pool) {
  n32 rest = n32(i);
  const i64 c = rest % n32(a.channels);
  rest /= n32(a.channels);
  const i64 q = rest % n32(a.ow);
  rest /= n32(a.ow);
  const i64 r = rest % n32(a.oh);
  rest /= n32(a.oh);
  const i64 n = rest % n32(a.samples), lane = rest / n32(a.samples);
  const T* x = LANE_READ(x) + lane * a.at.lane + n * a.at.sample + c * a.at.channel;
  T best = -LANE_INFINITY;
  i64 where = 255;
  for (i64 ky = 0; ky < a.kh; ++ky) {
    const i64 y = r * a.stride_h - a.top + ky;
    if (y < 0 || y >= a.h) continue;
    for (i64 kx = 0; kx < a.kw; ++kx) {
      const i64 column = q * a.stride_w - a.left + kx;
      if (column < 0 || column >= a.w) continue;
      const T v = x[y * a.at.row + column * a.at.column];
      if (v > best || v != v || where == 255) {
        best = v;
        where = ky * a.kw + kx;
      }
    }
  }
  LANE_WRITE(y)[i] = best;
  if (a.where) a.where[i] = (unsigned char)where;
}
LANE_KERNEL(max_pool_grad, Pool) {
  n32 rest = n32(i);
  const i64 c = rest % n32(a.channels);
  rest /= n32(a.channels);
  const i64 column = rest % n32(a.w);
  rest /= n32(a.w);
  const i64 row = rest % n32(a.h);
  rest /= n32(a.h);
  const i64 n = rest % n32(a.samples), lane = rest / n32(a.samples);
  const T* dy = LANE_READ(x) + lane * a.at.lane + n * a.at.sample + c * a.at.channel;
  const unsigned char* where = a.where + lane * a.where_at.lane + n * a.where_at.sample + c * a.where_at.channel;
  T sum = T(0);
  for (i64 ky = 0; ky < a.kh; ++ky) {
    const i64 y = row + a.top - ky;
    if (y < 0 || y % a.stride_h != 0 || y / a.stride_h >= a.oh) continue;
    for (i64 kx = 0; kx < a.kw; ++kx) {
      const i64 x = column + a.left - kx;
      if (x < 0 || x % a.stride_w != 0 || x / a.stride_w >= a.ow) continue;
      const i64 r = y / a.stride_h, q = x / a.stride_w;
      if (where[r * a.where_at.row + q * a.where_at.column] == ky * a.kw + kx) {
        sum += dy[r * a.at.row + q * a.at.column];
      }
    }
  }
  LANE_WRITE(y)[i] = sum;
}
// Cells that a window's mean is taken over along one axis: those inside, or inside the padding too.
LANE_FN i64 lane_reach(i64 first, i64 window, i64 size, i64 behind, i64 padding) {
  const i64 begin = padding || first > 0 ? first : 0, bound = size + (padding ? behind : 0);
  return (first + window < bound ? first + window : bound) - begin;
}
LANE_FN T lane_divisor(const Pool& a, i64 r, i64 q) {
  const i64 cells = lane_reach(r * a.stride_h - a.top, a.kh, a.h, a.bottom, a.padding) *
                    lane_reach(q * a.stride_w - a.left, a.kw, a.w, a.right, a.padding);
  return T(cells < 1 ? 1 : cells);
}
LANE_KERNEL(avg_pool, Pool) {
  n32 rest = n32(i);
  const i64 c = rest % n32(a.channels);
  rest /= n32(a.channels);
  const i64 q = rest % n32(a.ow);
  rest /= n32(a.ow);
  const i64 r = rest % n32(a.oh);
  rest /= n32(a.oh);
  const i64 n = rest % n32(a.samples), lane = rest / n32(a.samples);
  const T* x = LANE_READ(x) + lane * a.at.lane + n * a.at.sample + c * a.at.channel;
  T sum = T(0);
  for (i64 ky = 0; ky < a.kh; ++ky) {
    const i64 y = r * a.stride_h - a.top + ky;
    if (y < 0 || y >= a.h) continue;
    for (i64 kx = 0; kx < a.kw; ++kx) {
      const i64 column = q * a.stride_w - a.left + kx;
      if (column >= 0 && column < a.w) sum += x[y * a.at.row + column * a.at.column];
    }
  }
  LANE_WRITE(y)[i] = sum / lane_divisor(a, r, q);
}
LANE_KERNEL(avg_pool_grad, Pool) {
  n32 rest = n32(i);
  const i64 c = rest % n32(a.channels);
  rest /= n32(a.channels);
  const i64 column = rest % n32(a.w);
  rest /= n32(a.w);
  const i64 row = rest % n32(a.h);
  rest /= n32(a.h);
  const i64 n = rest % n32(a.samples), lane = rest / n32(a.samples);
  const T* dy = LANE_READ(x) + lane * a.at.lane + n * a.at.sample + c * a.at.channel;
  T sum = T(0);
  for (i64 ky = 0; ky < a.kh; ++ky) {
    const i64 y = row + a.top - ky;
    if (y < 0 || y % a.stride_h != 0 || y / a.stride_h >= a.oh) continue;
    for (i64 kx = 0; kx < a.kw; ++kx) {
      const i64 x = column + a.left - kx;
      if (x < 0 || x % a.stride_w != 0 || x / a.stride_w >= a.ow) continue;
      const i64 r = y / a.stride_h, q = x / a.stride_w;
      sum += dy[r * a.at.row + q * a.at.column] / lane_divisor(a, r, q);
    }
  }
  LANE_WRITE(y)[i] = sum;
}

// ---- losses ----

// i counts samples of all lanes.
LANE_KERNEL(cross_entropy, CrossEntropy) {
  const i64 lane = i / a.samples, sample = i % a.samples;
  const T smoothing = T(a.smoothing[lane * a.smoothing_lane]), hard = T(1) - smoothing, soft = smoothing / T(a.classes);
  T total = T(0);
  for (i64 position = 0; position < a.positions; ++position) {
    const i64 row = i * a.positions + position;
    const T* x = LANE_READ(x) + row * a.classes;
    T* p = LANE_WRITE(y) + row * a.classes;
    T most = x[0], sum = T(0), all = T(0);
    for (i64 k = 1; k < a.classes; ++k) most = x[k] > most || x[k] != x[k] ? x[k] : most;
    for (i64 k = 0; k < a.classes; ++k) {
      const T z = x[k] - most;
      all += z;
      sum += p[k] = LANE_EXP(z);
    }
    for (i64 k = 0; k < a.classes; ++k) p[k] = p[k] / sum;
    const i64 label = a.labels[lane * a.label_lane + sample * a.positions + position];
    total += LANE_LOG(sum) - (hard * (x[label] - most) + (smoothing == T(0) ? T(0) : soft * all));
  }
  T loss = total / T(a.positions);
  if (a.weights) loss = loss * LANE_READ(weights)[i];
  LANE_WRITE(loss)[i] = loss;
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
#define LANE_UPDATE                                                             \
  const i64 lane = n32(i) / n32(a.count), own = n32(i) % n32(a.count);            \
  const i64 at = lane * a.lane + own;                                           \
  if (a.active[lane] == 0) return;                                              \
  T g = LANE_READ(gradients)[lane * a.gradient_lane + own];                     \
  if (a.scale) g = g * LANE_READ(scale)[lane];                                  \
  T* const parameter = LANE_WRITE(parameters) + at;                             \
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
  const i64 lane = n32(i) / n32(a.count), at = n32(i) % n32(a.count);
  if (a.active[lane] != 0) LANE_WRITE(to)[lane * a.lane + at] = LANE_READ(from)[lane * a.from_lane + at];
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
