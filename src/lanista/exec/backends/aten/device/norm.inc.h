// Lane kernels that sum over rows: columns, normalisations, softmax.
// NOLINTBEGIN
// ---- sums over rows ----

LANE_KERNEL(add_columns, Columns) {
  const int vector_width = int(a.vector_width);
  const n32 at = n32(i) * vector_width;
  const T* from = LANE_READ(by) + at / n32(a.per_lane) * a.stride + at % n32(a.columns);
  const Four by = lane_load_some(from, a.can_load_fours != 0, vector_width);
  Four y = lane_load(LANE_READ(x) + at, vector_width);
  for (int k = 0; k < 4; ++k) {
    if (k < vector_width) y.v[k] = y.v[k] + by.v[k];
  }
  lane_store(LANE_WRITE(y) + at, y, vector_width);
}
// i counts [lanes, parts, columns].
struct Part {
  i64 column, begin, end;  // rows of the part
  i64 lane;                // lane
  i64 values;              // offset of the lane's column
  i64 sums;                // offset of the two sums of the column
};
LANE_FN Part lane_part(i64 i, const ColumnSum& a) {
  const i64 c = n32(i) % n32(a.columns), part = n32(i) / n32(a.columns) % n32(a.parts);
  const i64 lane = n32(i) / n32(a.columns) / n32(a.parts), begin = part * a.each, end = begin + a.each;
  return {c,
          begin,
          end < a.rows ? end : a.rows,
          lane,
          lane * a.rows * a.columns + c,
          (lane * a.parts + part) * 2 * a.columns + c};
}
LANE_KERNEL(column_part, ColumnSum) {
  const Part p = lane_part(i, a);
  const T* x = LANE_READ(x) + p.values;
  double sum = 0;
  for (i64 row = p.begin; row < p.end; ++row) sum += double(x[row * a.columns]);
  ((double*)a.out)[i] = sum;
}
// For few rows: i counts [lanes, columns].
LANE_KERNEL(column_few, ColumnSum) {
  const T* x = LANE_READ(x) + n32(i) / n32(a.columns) * a.rows * a.columns + n32(i) % n32(a.columns);
  double sum = 0;
  for (int row = 0; row < int(a.rows); ++row) sum += double(x[i64(row) * a.columns]);
  LANE_WRITE(out)[i] = T(sum);
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

// ---- batch norm: differences to the first row, so that equal values have zero variance ----

LANE_KERNEL(norm_part, ColumnSum) {
  const Part p = lane_part(i, a);
  const T* x = LANE_READ(x) + p.values;
  const double first = double(x[0]);
  double sum = 0, squares = 0;
  for (i64 row = p.begin; row < p.end; ++row) {
    const double d = double(x[row * a.columns]) - first;
    sum += d;
    squares += d * d;
  }
  double* out = (double*)a.out + p.sums;
  out[0] = sum;
  out[a.columns] = squares;
}
// Both sums of a column, over all its parts.
struct Both {
  double first, second;
};
LANE_ROW_FN Both lane_both(const NormFinalize& a, i64 lane, i64 c) {
  double first = 0, second = 0;
  LANE_ROW_OF(part, a.parts) {
    const double* sums = a.sums + (lane * a.parts + part) * 2 * a.columns + c;
    first += sums[0];
    second += sums[a.columns];
  }
  return {LANE_ROW_SUM(first), LANE_ROW_SUM(second)};
}
LANE_ROW_KERNEL(norm_end, NormFinalize) {
  const i64 c = n32(i) % n32(a.columns), lane = n32(i) / n32(a.columns);
  const Both both = LANE_ROW_CALL(lane_both)(a, lane, c);
  if (!LANE_ROW_FIRST) return;
  const double sum = both.first;
  const double rows = double(a.rows), first = double(LANE_READ(x)[lane * a.rows * a.columns + c]);
  double squares = both.second - sum * sum / rows;
  if (squares < 0) squares = 0;
  const T mean = T(first + sum / rows);
  LANE_WRITE(mean)[i] = mean;
  LANE_WRITE(inverse)[i] = T(1 / LANE_SQRT(squares / rows + a.eps));
  const double momentum = a.momentum[lane * a.momentum_stride];
  const T keep = T(1 - momentum), take = T(momentum);
  const i64 old = lane * a.stride + c;
  LANE_WRITE(new_mean)[i] = LANE_READ(old_mean)[old] * keep + mean * take;
  T* const new_var = LANE_WRITE(new_var);
  new_var[i] = a.rows > 1 ? LANE_READ(old_var)[old] * keep + T(squares / (rows - 1)) * take : LANE_READ(old_var)[old];
}
LANE_KERNEL(norm_apply, NormApply) {
  const int vector_width = int(a.vector_width);
  const n32 at = n32(i) * vector_width, c = at % n32(a.columns), lane = at / n32(a.rows * a.columns);
  const i64 own = i64(lane) * a.columns + c, set = i64(lane) * a.stride + c;
  Four y = lane_load(LANE_READ(x) + at, vector_width);
  for (int k = 0; k < 4; ++k) {
    if (k >= vector_width) continue;
    T slope = LANE_READ(inverse)[own + k];
    if (a.slope) slope = slope * LANE_READ(slope)[set + k];
    y.v[k] = (y.v[k] - LANE_READ(mean)[own + k]) * slope;
    if (a.shift) y.v[k] = y.v[k] + LANE_READ(shift)[set + k];
  }
  lane_store(LANE_WRITE(y) + at, y, vector_width);
  if (a.activated)
    lane_store(LANE_WRITE(activated) + at, lane_activation(int(a.activation), y, T(a.a), T(a.b)), vector_width);
}
LANE_KERNEL(norm_grad_part, ColumnSum) {
  const Part p = lane_part(i, a);
  const T* x = LANE_READ(x) + p.values;
  const T* dy = LANE_READ(dy) + p.values;
  const T mean = LANE_READ(mean)[p.lane * a.columns + p.column];
  double sum = 0, dot = 0;
  for (i64 row = p.begin; row < p.end; ++row) {
    const double d = double(dy[row * a.columns]);
    sum += d;
    dot += double(x[row * a.columns] - mean) * d;
  }
  double* out = (double*)a.out + p.sums;
  out[0] = dot;
  out[a.columns] = sum;
}
// The mean and inverse are those of the forward pass. new_mean and new_var receive the sums of dy times the normalised
// x, and of dy.
LANE_ROW_KERNEL(norm_grad_end, NormFinalize) {
  const i64 c = n32(i) % n32(a.columns), lane = n32(i) / n32(a.columns);
  const Both both = LANE_ROW_CALL(lane_both)(a, lane, c);
  if (!LANE_ROW_FIRST) return;
  LANE_WRITE(new_mean)[i] = T(both.first * double(((const T*)a.inverse)[i]));
  LANE_WRITE(new_var)[i] = T(both.second);
}
LANE_KERNEL(norm_grad_apply, NormApply) {
  const int vector_width = int(a.vector_width);
  const n32 at = n32(i) * vector_width, c = at % n32(a.columns), lane = at / n32(a.rows * a.columns);
  const i64 own = i64(lane) * a.columns + c;
  const Four x = lane_load(LANE_READ(x) + at, vector_width), dy = lane_load(LANE_READ(dy) + at, vector_width);
  Four y = x;
  const T rows = T(a.rows);
  for (int k = 0; k < 4; ++k) {
    if (k >= vector_width) continue;
    const T inverse = LANE_READ(inverse)[own + k];
    const T slope = a.slope ? inverse * LANE_READ(slope)[i64(lane) * a.stride + c + k] : inverse;
    const T d = x.v[k] - LANE_READ(mean)[own + k];
    y.v[k] = slope * ((dy.v[k] - LANE_READ(sum)[own + k] / rows) - d * (LANE_READ(dot)[own + k] / rows * inverse));
  }
  lane_store(LANE_WRITE(y) + at, y, vector_width);
}

// For gradients of row normalisation: sums over rows of dy times the normalised x, and of dy. The mean and inverse are
// per row.
LANE_KERNEL(row_norm_grad_part, ColumnSum) {
  const Part p = lane_part(i, a);
  const T* x = LANE_READ(x) + p.values;
  const T* dy = LANE_READ(dy) + p.values;
  const T* mean = LANE_READ(mean) + p.lane * a.rows;
  const T* inverse = LANE_READ(inverse) + p.lane * a.rows;
  double sum = 0, dot = 0;
  for (i64 row = p.begin; row < p.end; ++row) {
    const double d = double(dy[row * a.columns]);
    sum += d;
    dot += double((x[row * a.columns] - mean[row]) * inverse[row]) * d;
  }
  double* out = (double*)a.out + p.sums;
  out[0] = dot;
  out[a.columns] = sum;
}

// ---- rows: several threads share a row, each with columns of its own, and exchange sums ----

// A row that fits into registers, four elements per thread, is read once.
LANE_ROW_KERNEL(softmax, Rows) {
  const T* x = LANE_READ(x) + i * a.len;
  T* y = LANE_WRITE(y) + i * a.len;
  const int len = int(a.len);
  T most = x[0], sum = T(0);
  if (len <= 4 * LANE_THREADS_PER_ROW) {
    T own[4];
    LANE_UNROLL for (int j = 0; j < 4; ++j) {
      own[j] = LANE_ROW_OWN(j) < len ? x[LANE_ROW_OWN(j)] : most;
      most = own[j] > most || own[j] != own[j] ? own[j] : most;
    }
    most = LANE_ROW_MAX(most);
    LANE_UNROLL for (int j = 0; j < 4; ++j) {
      if (LANE_ROW_OWN(j) < len) sum += own[j] = LANE_EXP(own[j] - most);
    }
    sum = LANE_ROW_SUM(sum);
    LANE_UNROLL for (int j = 0; j < 4; ++j) {
      if (LANE_ROW_OWN(j) < len) y[LANE_ROW_OWN(j)] = own[j] / sum;
    }
    return;
  }
  LANE_ROW(k) most = x[k] > most || x[k] != x[k] ? x[k] : most;
  most = LANE_ROW_MAX(most);
  LANE_ROW(k) sum += y[k] = LANE_EXP(x[k] - most);
  sum = LANE_ROW_SUM(sum);
  LANE_ROW(k) y[k] = y[k] / sum;
}
LANE_ROW_KERNEL(softmax_grad, Rows) {
  const T* x = LANE_READ(x) + i * a.len;
  const T* dy = LANE_READ(dy) + i * a.len;
  T* y = LANE_WRITE(y) + i * a.len;
  const int len = int(a.len);
  T dot = T(0);
  if (len <= 4 * LANE_THREADS_PER_ROW) {
    T own[4], back[4];
    LANE_UNROLL for (int j = 0; j < 4; ++j) {
      own[j] = LANE_ROW_OWN(j) < len ? x[LANE_ROW_OWN(j)] : T(0);
      back[j] = LANE_ROW_OWN(j) < len ? dy[LANE_ROW_OWN(j)] : T(0);
      dot += own[j] * back[j];
    }
    dot = LANE_ROW_SUM(dot);
    LANE_UNROLL for (int j = 0; j < 4; ++j) {
      if (LANE_ROW_OWN(j) < len) y[LANE_ROW_OWN(j)] = own[j] * (back[j] - dot) * T(a.scale);
    }
    return;
  }
  LANE_ROW(k) dot += x[k] * dy[k];
  dot = LANE_ROW_SUM(dot);
  LANE_ROW(k) y[k] = x[k] * (dy[k] - dot) * T(a.scale);
}
constexpr int kKept = 8;  // elements of a row in a thread's registers
LANE_ROW_KERNEL(layer_norm, Rows) {
  const T* x = LANE_READ(x) + i * a.len;
  T* y = LANE_WRITE(y) + i * a.len;
  const i64 set = n32(i) / n32(a.rows_per_lane) * a.stride;
  const int len = int(a.len);
  const bool is_kept = len <= kKept * LANE_THREADS_PER_ROW;
  const T first = x[0];
  T kept[kKept], sum = T(0), squares = T(0);
  if (is_kept) {
    LANE_UNROLL for (int j = 0; j < kKept; ++j) {
      kept[j] = LANE_ROW_OWN(j) < len ? x[LANE_ROW_OWN(j)] : first;
      sum += kept[j] - first;
    }
  } else {
    LANE_ROW(k) sum += x[k] - first;
  }
  sum = LANE_ROW_SUM(sum);
  const T mean = first + sum / T(a.len);
  if (is_kept) {
    LANE_UNROLL for (int j = 0; j < kKept; ++j) {
      if (LANE_ROW_OWN(j) < len) squares += (kept[j] - mean) * (kept[j] - mean);
    }
  } else {
    LANE_ROW(k) squares += (x[k] - mean) * (x[k] - mean);
  }
  squares = LANE_ROW_SUM(squares);
  const T inverse = T(1) / LANE_SQRT(squares / T(a.len) + T(a.eps));
  const auto put = [&](i64 k, T value) {
    T out = (value - mean) * inverse;
    if (a.weight) out = out * LANE_READ(weight)[set + k] + LANE_READ(bias)[set + k];
    y[k] = out;
  };
  if (is_kept) {
    LANE_UNROLL for (int j = 0; j < kKept; ++j) {
      if (LANE_ROW_OWN(j) < len) put(LANE_ROW_OWN(j), kept[j]);
    }
  } else {
    LANE_ROW(k) put(k, x[k]);
  }
  if (a.mean && LANE_ROW_FIRST) {
    LANE_WRITE(mean)[i] = mean;
    LANE_WRITE(inverse)[i] = inverse;
  }
}
LANE_ROW_KERNEL(layer_norm_grad, Rows) {
  const T* x = LANE_READ(x) + i * a.len;
  const T* dy = LANE_READ(dy) + i * a.len;
  const i64 set = n32(i) / n32(a.rows_per_lane) * a.stride;
  const T mean = LANE_READ(mean)[i], inverse = LANE_READ(inverse)[i];
  const int len = int(a.len);
  const bool is_kept = len <= kKept * LANE_THREADS_PER_ROW;
  T kept[kKept], back[kKept], sum = T(0), dot = T(0);
  const auto hat_of = [&](T value) { return (value - mean) * inverse; };
  const auto weighed = [&](i64 k, T d) { return a.weight ? d * LANE_READ(weight)[set + k] : d; };
  const auto take = [&](i64 k, T hat, T d) {
    const T g = weighed(k, d);
    sum += g;
    dot += g * hat;
    return g;
  };
  if (is_kept) {
    LANE_UNROLL for (int j = 0; j < kKept; ++j) {
      kept[j] = back[j] = T(0);
      if (LANE_ROW_OWN(j) >= len) continue;
      kept[j] = hat_of(x[LANE_ROW_OWN(j)]);
      back[j] = take(LANE_ROW_OWN(j), kept[j], dy[LANE_ROW_OWN(j)]);
    }
  } else {
    LANE_ROW(k) take(k, hat_of(x[k]), dy[k]);
  }
  sum = LANE_ROW_SUM(sum);
  dot = LANE_ROW_SUM(dot);
  const auto put = [&](i64 k, T hat, T g) {
    T y = inverse * ((g - sum / T(a.len)) - hat * (dot / T(a.len)));
    if (a.other) y = y + LANE_READ(other)[i * a.len + k];
    LANE_WRITE(y)[i * a.len + k] = y;
  };
  if (is_kept) {
    LANE_UNROLL for (int j = 0; j < kKept; ++j) {
      if (LANE_ROW_OWN(j) < len) put(LANE_ROW_OWN(j), kept[j], back[j]);
    }
  } else {
    LANE_ROW(k) put(k, hat_of(x[k]), weighed(k, dy[k]));
  }
}
// NOLINTEND
