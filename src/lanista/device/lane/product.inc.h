// Products of matrices, one of a batch and a tile of it a block, and what is done to its numbers before they are stored.
// A number's terms are added in their order, so its bits hang neither on the tile nor on what else is in the batch.
// Threads of a block share what they read: LANE_EACH(t) { ... } is what each does, until LANE_TOGETHER; `own` is a
// thread's own (`LANE_OWN`).
// NOLINTBEGIN

// Terms that are brought near at once.
static constexpr int kDepth = sizeof(T) == 4 ? 16 : 8;

LANE_FN T lane_finished(int finish, T x, const Elementwise& a) {
  switch (finish) {
    case kRelu: return relu_of(x, x, a);
    case kGelu: return gelu_of(x, x, a);
    case kSilu: return silu_of(x, x, a);
    case kHardSwish: return hard_swish_of(x, x, a);
    case kClip: return clip_of(x, x, a);
    default: return x;
  }
}
LANE_FN T lane_finished_grad(int finish, T x, T dy, const Elementwise& a) {
  switch (finish) {
    case kRelu: return relu_grad_of(x, dy, a);
    case kGelu: return gelu_grad_of(x, dy, a);
    case kSilu: return silu_grad_of(x, dy, a);
    case kHardSwish: return hard_swish_grad_of(x, dy, a);
    case kClip: return clip_grad_of(x, dy, a);
    default: return dy;
  }
}

// Rows and columns of a tile, and of them those that a thread makes, in fours.
template <int Rows, int Columns, int Tall, int Wide>
struct Tile {
  static constexpr int kRows = Rows, kColumns = Columns, kTall = Tall, kWide = Wide;
  static constexpr int kAcross = Columns / Wide, kThreads = Rows / Tall * kAcross;
  static constexpr int kLeft = (Rows * kDepth / 4 + kThreads - 1) / kThreads;
  static constexpr int kRight = (Columns * kDepth / 4 + kThreads - 1) / kThreads;
  static_assert(Tall % 4 == 0 && Wide % 4 == 0 && kThreads >= Columns);

  struct Shared {
    alignas(4 * sizeof(T)) T left[2][kDepth][Rows + 4];
    alignas(4 * sizeof(T)) T right[2][kDepth][Columns + 4];
  };
  struct Own {
    T sum[Tall][Wide];
    Four left[kLeft], right[kRight];  // on their way
    double column;
  };
};

// One side of a product: `size` vectors of `depth` terms; the terms of one are `step` apart, vectors `apart`.
struct Side {
  const T* from;
  int size, apart, depth, step;
  bool fours;
};
// Four of the tile whose first vector and term these are.
template <int Size>
LANE_FN Four tile_load(const Side& of, int vector, int term, int four) {
  Four v = lane_zeros();
  if (of.step == 1) {
    vector += four / (kDepth / 4);
    term += four % (kDepth / 4) * 4;
    if (vector >= of.size) return v;
    const T* p = of.from + vector * of.apart + term;
    if (of.fours) {
      if (term < of.depth) v = *(const Four*)p;
    } else {
      LANE_UNROLL for (int j = 0; j < 4; ++j) v.v[j] = term + j < of.depth ? p[j] : T(0);
    }
  } else {
    term += four / (Size / 4);
    vector += four % (Size / 4) * 4;
    if (term >= of.depth) return v;
    const T* p = of.from + term * of.step + vector * of.apart;
    if (of.fours) {
      if (vector < of.size) v = *(const Four*)p;
    } else {
      LANE_UNROLL for (int j = 0; j < 4; ++j) v.v[j] = vector + j < of.size ? p[j * of.apart] : T(0);
    }
  }
  return v;
}
template <int Size>
LANE_FN void tile_store(T (&to)[kDepth][Size + 4], const Side& of, const Four& v, int four) {
  if (of.step == 1) {
    const int term = four % (kDepth / 4) * 4;
    LANE_UNROLL for (int j = 0; j < 4; ++j) to[term + j][four / (kDepth / 4)] = v.v[j];
  } else {
    *(Four*)&to[four / (Size / 4)][four % (Size / 4) * 4] = v;
  }
}
template <int Size, int Threads, int Count>
LANE_FN void tile_fetch(Four (&next)[Count], const Side& of, int vector, int term, int t) {
  LANE_UNROLL for (int j = 0; j < Count; ++j) {
    if (t + j * Threads < Size * kDepth / 4) next[j] = tile_load<Size>(of, vector, term, t + j * Threads);
  }
}
template <int Size, int Threads, int Count>
LANE_FN void tile_put(T (&to)[kDepth][Size + 4], const Side& of, const Four (&next)[Count], int t) {
  LANE_UNROLL for (int j = 0; j < Count; ++j) {
    if (t + j * Threads < Size * kDepth / 4) tile_store<Size>(to, of, next[j], t + j * Threads);
  }
}

// Four numbers of a row, from column n on.
LANE_FN void product_end(const Product& a, i64 batch, i64 outer, int m, int n, const T* sum) {
  const i64 at = (batch * a.m + m) * a.n + n;
  const int count = int(a.n) - n < 4 ? int(a.n) - n : 4;
  const Elementwise of{0, 0, 0, a.a, a.b, 1};
  Four y, f;
  LANE_UNROLL for (int j = 0; j < 4; ++j) {
    y.v[j] = f.v[j] = sum[j] * T(a.scale);
    if (j >= count) continue;
    if (a.bias) y.v[j] += LANE_READ(bias)[outer * a.bias_outer + n + j];
    if (a.before) y.v[j] = lane_finished_grad(int(a.finish), LANE_READ(before)[at + j], y.v[j], of);
    if (a.finished) f.v[j] = lane_finished(int(a.finish), y.v[j], of);
  }
  if (a.y_fours) {
    *(Four*)(LANE_WRITE(y) + at) = y;
    if (a.finished) *(Four*)(LANE_WRITE(finished) + at) = f;
    return;
  }
  LANE_UNROLL for (int j = 0; j < 4; ++j) {
    if (j >= count) continue;
    LANE_WRITE(y)[at + j] = y.v[j];
    if (a.finished) LANE_WRITE(finished)[at + j] = f.v[j];
  }
}

template <class Of>
LANE_FN void product_of(i64 block, const Product& a, typename Of::Shared& near, LANE_OWNED(Of) own) {
  constexpr int kRows = Of::kRows, kColumns = Of::kColumns, kThreads = Of::kThreads;
  const n32 across = (n32(a.n) + kColumns - 1) / kColumns, down = (n32(a.m) + kRows - 1) / kRows;
  const int column = int(n32(block) % across) * kColumns, row = int(n32(block) / across % down) * kRows;
  const n32 batch = n32(block) / across / down, outer = batch / n32(a.inner), inner = batch % n32(a.inner);
  const int terms = int(a.k);
  const Side left{LANE_READ(left) + outer * a.left_at.outer + inner * a.left_at.inner,
                  int(a.m), int(a.left_at.row), terms, int(a.left_at.column), a.left_fours != 0};
  const Side right{LANE_READ(right) + outer * a.right_at.outer + inner * a.right_at.inner,
                   int(a.n), int(a.right_at.column), terms, int(a.right_at.row), a.right_fours != 0};
  const bool sums = a.column_sums && row == 0;
  LANE_EACH(t) {
    auto& o = LANE_OWN;
    LANE_UNROLL for (int i = 0; i < Of::kTall; ++i) {
      LANE_UNROLL for (int j = 0; j < Of::kWide; ++j) o.sum[i][j] = T(0);
    }
    o.column = 0;
    tile_fetch<kRows, kThreads>(o.left, left, row, 0, t);
    tile_fetch<kColumns, kThreads>(o.right, right, column, 0, t);
    tile_put<kRows, kThreads>(near.left[0], left, o.left, t);
    tile_put<kColumns, kThreads>(near.right[0], right, o.right, t);
  }
  LANE_TOGETHER;
  for (int term = 0, at = 0; term < terms; term += kDepth, at ^= 1) {
    LANE_EACH(t) {
      auto& o = LANE_OWN;
      const int ty = t / Of::kAcross, tx = t % Of::kAcross;
      const bool more = term + kDepth < terms;
      if (more) {
        tile_fetch<kRows, kThreads>(o.left, left, row, term + kDepth, t);
        tile_fetch<kColumns, kThreads>(o.right, right, column, term + kDepth, t);
      }
      if (sums && t < kColumns) {
        LANE_UNROLL for (int k = 0; k < kDepth; ++k) o.column += double(near.right[at][k][t]);
      }
      LANE_UNROLL for (int k = 0; k < kDepth; ++k) {
        Four l[Of::kTall / 4], r[Of::kWide / 4];
        LANE_UNROLL for (int i = 0; i < Of::kTall / 4; ++i) {
          l[i] = *(const Four*)&near.left[at][k][i * (4 * kRows / Of::kTall) + 4 * ty];
        }
        LANE_UNROLL for (int j = 0; j < Of::kWide / 4; ++j) {
          r[j] = *(const Four*)&near.right[at][k][j * (4 * kColumns / Of::kWide) + 4 * tx];
        }
        LANE_UNROLL for (int i = 0; i < Of::kTall; ++i) {
          LANE_UNROLL for (int j = 0; j < Of::kWide; ++j) o.sum[i][j] += l[i / 4].v[i % 4] * r[j / 4].v[j % 4];
        }
      }
      if (more) {
        tile_put<kRows, kThreads>(near.left[at ^ 1], left, o.left, t);
        tile_put<kColumns, kThreads>(near.right[at ^ 1], right, o.right, t);
      }
    }
    LANE_TOGETHER;
  }
  LANE_EACH(t) {
    auto& o = LANE_OWN;
    const int ty = t / Of::kAcross, tx = t % Of::kAcross;
    if (sums && t < kColumns && column + t < int(a.n)) {
      LANE_WRITE(column_sums)[i64(batch) * a.n + column + t] = T(o.column);
    }
    LANE_UNROLL for (int i = 0; i < Of::kTall; ++i) {
      const int m = row + i / 4 * (4 * kRows / Of::kTall) + 4 * ty + i % 4;
      LANE_UNROLL for (int j = 0; j < Of::kWide / 4; ++j) {
        const int n = column + j * (4 * kColumns / Of::kWide) + 4 * tx;
        if (m < int(a.m) && n < int(a.n)) product_end(a, batch, outer, m, n, &o.sum[i][4 * j]);
      }
    }
  }
}

#define LANE_PRODUCT(rows, columns, tall, wide) \
  LANE_TILE_KERNEL(product_##rows##x##columns, Product, product_of, Tile<rows, columns, tall, wide>)
LANE_PRODUCT(128, 128, 8, 8)
LANE_PRODUCT(128, 64, 8, 4)
LANE_PRODUCT(64, 64, 8, 4)
LANE_PRODUCT(32, 64, 4, 4)
LANE_PRODUCT(32, 32, 4, 4)
LANE_PRODUCT(32, 16, 4, 4)
// NOLINTEND
