// Products of matrices. A block computes one tile of one matrix, and applies the epilogue before it stores the tile.
// The terms of an element are added in ascending order, so its bits depend neither on the tile nor on the rest of the
// batch.
// Threads of a block share what they read. LANE_FOR_EACH_THREAD(t) { ... } is the work of each thread up to
// LANE_BARRIER. `own` is the state of a thread (`LANE_THREAD_STATE`). NOLINTBEGIN

// Rows and columns of a tile, the rows and columns of a thread in fours, and the number of terms in shared memory.
template <int Rows, int Columns, int ThreadRows, int ThreadColumns, int Depth>
struct Tile {
  static constexpr int kRows = Rows, kColumns = Columns, kThreadRows = ThreadRows, kThreadColumns = ThreadColumns,
                       kDepth = Depth;
  static constexpr int kAtOnce = Depth > 16 ? 8 : Depth;
  static constexpr int kAcross = Columns / ThreadColumns, kThreads = Rows / ThreadRows * kAcross;
  static constexpr int kLeft = (Rows * Depth / 4 + kThreads - 1) / kThreads;
  static constexpr int kRight = (Columns * Depth / 4 + kThreads - 1) / kThreads;
  static_assert(ThreadRows % 4 == 0 && ThreadColumns % 4 == 0 && Depth % 8 == 0 && kThreads >= Columns);
  static constexpr int kDown = 4 * Rows / ThreadRows;  // from a thread's four rows to its next
  // Shared memory holds terms, or a part of the sums.
  static constexpr int kTermNumbers = 2 * Depth * (Rows + Columns + 8), kSumNumbers = kDown * (Columns + 4);
  static constexpr int kNumbers = kTermNumbers < kSumNumbers ? kSumNumbers : kTermNumbers;
  static_assert(kNumbers * int(sizeof(T)) <= 48 << 10);

  struct Shared {
    alignas(4 * sizeof(T)) T numbers[kNumbers];
  };
  using Left = T[Depth][Rows + 4];
  using Right = T[Depth][Columns + 4];
  struct ThreadState {
    T sum[ThreadRows][ThreadColumns];
    int left_from[kLeft], right_from[kRight];  // source offsets of a tile's terms; below zero: none
    Four left[kLeft], right[kRight];           // loads in flight
    double column;
  };
};

// Two buffers of both sides' terms, and sums, in shared memory.
template <class Of>
LANE_FN typename Of::Left& tile_left(typename Of::Shared& shared_memory, int at) {
  return *(typename Of::Left*)&shared_memory.numbers[at * Of::kDepth * (Of::kRows + 4)];
}
template <class Of>
LANE_FN typename Of::Right& tile_right(typename Of::Shared& shared_memory, int at) {
  return *(typename Of::Right*)&shared_memory.numbers[Of::kDepth * (2 * (Of::kRows + 4) + at * (Of::kColumns + 4))];
}
template <class Of>
LANE_FN Four& tile_sums(T* shared_memory, int row, int column) {
  return *(Four*)(shared_memory + row * (Of::kColumns + 4) + column);
}

// Layout of a side: the terms of a vector are contiguous, or the vectors are contiguous, each in fours; or neither.
enum MatrixLayout { kTermsAdjacent, kVectorsAdjacent, kStrided };
// One side of a product: `size` vectors of `depth` terms. Terms of a vector are `step` apart, vectors are `apart`
// apart.
struct Side {
  const T* from;
  int size, apart, depth, step;
};
template <MatrixLayout Layout, int Size, int Depth>
LANE_FN int tile_vector(int four) {
  return Layout == kVectorsAdjacent ? four % (Size / 4) * 4 : four / (Depth / 4);
}
template <MatrixLayout Layout, int Size, int Depth>
LANE_FN int tile_term(int four) {
  return Layout == kVectorsAdjacent ? four / (Size / 4) : four % (Depth / 4) * 4;
}
template <MatrixLayout Layout, int Size, int Depth, int Threads, int Count>
LANE_FN void tile_compute_offsets(int (&from)[Count], const Side& of, int vector, int t) {
  LANE_UNROLL for (int j = 0; j < Count; ++j) {
    const int four = t + j * Threads, own = vector + tile_vector<Layout, Size, Depth>(four);
    const bool is = four < Size * Depth / 4 && own < of.size;
    from[j] = is ? own * of.apart + tile_term<Layout, Size, Depth>(four) * of.step : -1;
  }
}
template <MatrixLayout Layout, int Size, int Depth, int Threads, int Count>
LANE_FN void tile_fetch(Four (&next)[Count], const int (&from)[Count], const Side& of, int term, int t) {
  const T* const base = of.from + i64(term) * of.step;
  LANE_UNROLL for (int j = 0; j < Count; ++j) {
    const int left = of.depth - term - tile_term<Layout, Size, Depth>(t + j * Threads);
    next[j] = lane_zeros();
    if (Layout == kStrided) {
      LANE_UNROLL for (int k = 0; k < 4; ++k) {
        if (from[j] >= 0 && k < left) next[j].v[k] = base[from[j] + k * of.step];
      }
    } else if (from[j] >= 0 && left > 0) {
      next[j] = *(const Four*)(base + from[j]);
    }
  }
}
template <MatrixLayout Layout, int Size, int Depth, int Threads, int Count>
LANE_FN void tile_write_shared(T (&to)[Depth][Size + 4], const Four (&next)[Count], int t) {
  LANE_UNROLL for (int j = 0; j < Count; ++j) {
    const int four = t + j * Threads;
    if (Size * Depth / 4 % Threads != 0 && four >= Size * Depth / 4) continue;
    const int vector = tile_vector<Layout, Size, Depth>(four), term = tile_term<Layout, Size, Depth>(four);
    if (Layout == kVectorsAdjacent) {
      *(Four*)&to[term][vector] = next[j];
    } else {
      LANE_UNROLL for (int k = 0; k < 4; ++k) to[term + k][vector] = next[j].v[k];
    }
  }
}

// A part of a tile: the rows from one group of four per thread. Threads exchange its sums through shared memory, so
// that neighbours are read and written together. Each element is fetched once per tile.
template <class Of>
LANE_FN void tile_stage_sums(T* shared_memory, const T (&sum)[Of::kThreadRows][Of::kThreadColumns], int part, int t) {
  constexpr int kOver = 4 * Of::kColumns / Of::kThreadColumns;
  const int ty = t / Of::kAcross, tx = t % Of::kAcross;
  LANE_UNROLL for (int each = 0; each < Of::kThreadRows / 4; ++each) {
    if (each != part) continue;
    LANE_UNROLL for (int i = 0; i < 4; ++i) {
      LANE_UNROLL for (int j = 0; j < Of::kThreadColumns / 4; ++j) {
        Four y;
        LANE_UNROLL for (int k = 0; k < 4; ++k) y.v[k] = sum[4 * each + i][4 * j + k];
        tile_sums<Of>(shared_memory, 4 * ty + i, j * kOver + 4 * tx) = y;
      }
    }
  }
}

// Applies the update to the parameters of these gradients, in fours. Several loads are in flight at once.
template <class Of, class Rule>
LANE_FN void tile_update_parameters(const Product& a, T* shared_memory, i64 lane, int row, int column, int t) {
  constexpr int kFours = Of::kColumns / 4, kInFlight = 2;
  static_assert(Of::kDown * kFours % (kInFlight * Of::kThreads) == 0);
  const int m = int(a.m), n = int(a.n);
  LANE_NO_UNROLL for (int first = t; first < Of::kDown * kFours; first += kInFlight * Of::kThreads) {
    UpdateFour of[kInFlight];
    bool is[kInFlight];
    LANE_UNROLL for (int j = 0; j < kInFlight; ++j) {
      const int four = first + j * Of::kThreads, from = row + four / kFours, to = column + four % kFours * 4;
      is[j] = from < m && to < n;
      if (is[j]) lane_update_load(a.to, lane, i64(from) * n + to, true, 4, of[j]);
    }
    LANE_UNROLL for (int j = 0; j < kInFlight; ++j) {
      if (!is[j]) continue;
      const int four = first + j * Of::kThreads;
      Four g = tile_sums<Of>(shared_memory, four / kFours, four % kFours * 4);
      // The value that would be stored, with the same sign of zero.
      LANE_UNROLL for (int k = 0; k < 4; ++k) g.v[k] = g.v[k] * T(a.scale) + T(0);
      lane_update_store<Rule>(a.to, lane, g, true, 4, of[j]);
    }
  }
}
template <class Of>
LANE_FN void tile_update_parameters(const Product& a, T* shared_memory, i64 lane, int row, int column, int t) {
#define LANE_FUSED_UPDATE(name, Name) \
  if (a.fused_update == k##Name)      \
    tile_update_parameters<Of, lanista::device::Name##Rule>(a, shared_memory, lane, row, column, t);
  DEVICE_UPDATE_RULES(LANE_FUSED_UPDATE)
#undef LANE_FUSED_UPDATE
}

// Applies the epilogue to sums and stores them. Several loads are in flight at once.
template <class Of>
LANE_FN void tile_store(const Product& a, T* shared_memory, n32 outer, n32 inner, int row, int column, int t) {
  constexpr int kFours = Of::kColumns / 4, kInFlight = 2;
  static_assert(Of::kDown * kFours % (kInFlight * Of::kThreads) == 0);
  const int m = int(a.m), n = int(a.n), activation = int(a.activation);
  const bool fours = a.y_can_load_fours != 0;
  const i64 begin = outer * a.y_at.outer + inner * a.y_at.inner;
  LANE_NO_UNROLL for (int first = t; first < Of::kDown * kFours; first += kInFlight * Of::kThreads) {
    Four y[kInFlight], bias[kInFlight], other[kInFlight], pre_activation[kInFlight];
    int count[kInFlight];
    i64 place[kInFlight];
    LANE_UNROLL for (int j = 0; j < kInFlight; ++j) {
      const int four = first + j * Of::kThreads, from = row + four / kFours, to = column + four % kFours * 4;
      count[j] = from < m ? n - to : 0;
      place[j] = begin + from * a.y_at.row + to;
      y[j] = tile_sums<Of>(shared_memory, four / kFours, four % kFours * 4);
      bias[j] = other[j] = pre_activation[j] = lane_zeros();
      if (count[j] <= 0) continue;
      if (a.bias)
        bias[j] = lane_load_some(LANE_READ(bias) + outer * a.bias_outer + to, a.bias_can_load_fours != 0, count[j]);
      if (a.other) other[j] = lane_load_some(LANE_READ(other) + place[j], fours, count[j]);
      if (a.pre_activation) pre_activation[j] = lane_load_some(LANE_READ(pre_activation) + place[j], fours, count[j]);
    }
    LANE_UNROLL for (int j = 0; j < kInFlight; ++j) {
      if (count[j] <= 0) continue;
      LANE_UNROLL for (int k = 0; k < 4; ++k) y[j].v[k] = y[j].v[k] * T(a.scale) + bias[j].v[k];
      if (a.other) {
        LANE_UNROLL for (int k = 0; k < 4; ++k) y[j].v[k] += other[j].v[k];
      }
      if (a.pre_activation) y[j] = lane_activation_grad(activation, pre_activation[j], y[j], T(a.a), T(a.b));
      lane_store_some(LANE_WRITE(y) + place[j], y[j], fours, count[j]);
      if (a.activated) {
        lane_store_some(LANE_WRITE(activated) + place[j], lane_activation(activation, y[j], T(a.a), T(a.b)), fours,
                        count[j]);
      }
    }
  }
}

// The work of a block: sums its tile and stores it.
template <class Of, MatrixLayout Left, MatrixLayout Right>
LANE_FN void product_of(i64 block, const Product& a, typename Of::Shared& shared_memory, LANE_THREAD_STATES(Of) own) {
  constexpr int kRows = Of::kRows, kColumns = Of::kColumns, kThreads = Of::kThreads, kDepth = Of::kDepth;
  constexpr int kDown = Of::kDown, kOver = 4 * kColumns / Of::kThreadColumns;  // from a thread's four to its next
  const n32 across = (n32(a.n) + kColumns - 1) / kColumns, down = (n32(a.m) + kRows - 1) / kRows;
  const int column = int(n32(block) % across) * kColumns, row = int(n32(block) / across % down) * kRows;
  const n32 batch = n32(block) / across / down, outer = batch / n32(a.inner), inner = batch % n32(a.inner);
  const int terms = int(a.k), m = int(a.m), n = int(a.n);
  const Side left{LANE_READ(left) + outer * a.left_at.outer + inner * a.left_at.inner, m, int(a.left_at.row), terms,
                  Left == kTermsAdjacent ? 1 : int(a.left_at.column)};
  const Side right{LANE_READ(right) + outer * a.right_at.outer + inner * a.right_at.inner, n, int(a.right_at.column),
                   terms, Right == kTermsAdjacent ? 1 : int(a.right_at.row)};
  const bool sums = a.column_sums && row == 0;
  const bool updates_parameters = Left == kVectorsAdjacent && Right == kVectorsAdjacent && a.fused_update != kNoUpdate;
  if (updates_parameters && a.to.active[batch] == 0) return;
  LANE_FOR_EACH_THREAD(t) {
    auto& o = LANE_THREAD_STATE;
    LANE_UNROLL for (int i = 0; i < Of::kThreadRows; ++i) {
      LANE_UNROLL for (int j = 0; j < Of::kThreadColumns; ++j) o.sum[i][j] = T(0);
    }
    o.column = 0;
    tile_compute_offsets<Left, kRows, kDepth, kThreads>(o.left_from, left, row, t);
    tile_compute_offsets<Right, kColumns, kDepth, kThreads>(o.right_from, right, column, t);
  }
  // Loads the next terms while the current ones are multiplied. There are none before the first or after the last.
  LANE_NO_UNROLL for (int term = 0, at = 0; term < terms + kDepth; term += kDepth, at ^= 1) {
    LANE_FOR_EACH_THREAD(t) {
      auto& o = LANE_THREAD_STATE;
      const int ty = t / Of::kAcross, tx = t % Of::kAcross;
      tile_fetch<Left, kRows, kDepth, kThreads>(o.left, o.left_from, left, term, t);
      tile_fetch<Right, kColumns, kDepth, kThreads>(o.right, o.right_from, right, term, t);
      if (sums && term > 0 && t < kColumns) {
        LANE_NO_UNROLL for (int first = 0; first < kDepth; first += 8) {
          T sum = T(0);
          LANE_UNROLL for (int k = 0; k < 8; ++k) sum += tile_right<Of>(shared_memory, at ^ 1)[first + k][t];
          o.column += double(sum);
        }
      }
      // Terms beyond the last one are zero. They are skipped only where there may be many.
      LANE_NO_UNROLL for (int first = 0; first < (term > 0 ? kDepth : 0); first += Of::kAtOnce) {
        if (first > 0 && term - kDepth + first >= terms) break;
        LANE_UNROLL for (int k = 0; k < Of::kAtOnce; ++k) {
          Four l[Of::kThreadRows / 4], r[Of::kThreadColumns / 4];
          LANE_UNROLL for (int i = 0; i < Of::kThreadRows / 4; ++i) {
            l[i] = *(const Four*)&tile_left<Of>(shared_memory, at ^ 1)[first + k][i * kDown + 4 * ty];
          }
          LANE_UNROLL for (int j = 0; j < Of::kThreadColumns / 4; ++j) {
            r[j] = *(const Four*)&tile_right<Of>(shared_memory, at ^ 1)[first + k][j * kOver + 4 * tx];
          }
          LANE_UNROLL for (int i = 0; i < Of::kThreadRows; ++i) {
            LANE_UNROLL for (int j = 0; j < Of::kThreadColumns; ++j) o.sum[i][j] +=
                l[i / 4].v[i % 4] * r[j / 4].v[j % 4];
          }
        }
      }
      tile_write_shared<Left, kRows, kDepth, kThreads>(tile_left<Of>(shared_memory, at), o.left, t);
      tile_write_shared<Right, kColumns, kDepth, kThreads>(tile_right<Of>(shared_memory, at), o.right, t);
    }
    LANE_BARRIER;
  }
  LANE_FOR_EACH_THREAD(t) {
    if (sums && t < kColumns && column + t < n) {
      LANE_WRITE(column_sums)[i64(batch) * n + column + t] = T((LANE_THREAD_STATE).column);
    }
  }
  LANE_NO_UNROLL for (int part = 0; part < Of::kThreadRows / 4; ++part) {
    LANE_FOR_EACH_THREAD(t) { tile_stage_sums<Of>(shared_memory.numbers, (LANE_THREAD_STATE).sum, part, t); }
    LANE_BARRIER;
    LANE_FOR_EACH_THREAD(t) {
      if (updates_parameters) {
        tile_update_parameters<Of>(a, shared_memory.numbers, batch, row + part * kDown, column, t);
      } else {
        tile_store<Of>(a, shared_memory.numbers, outer, inner, row + part * kDown, column, t);
      }
    }
    LANE_BARRIER;
  }
}

// Kernels by the layouts of the left and the right side: [k][m] or [m][k], [k][n] or [n][k].
#define LANE_PRODUCT_OF(name, left, right, ...) \
  LANE_TILE_KERNEL(name, Product, LANE_ARGUMENTS(product_of<__VA_ARGS__, left, right>), __VA_ARGS__)
#define LANE_PRODUCT(size, ...)                                                       \
  LANE_PRODUCT_OF(product_##size##_nn, kTermsAdjacent, kVectorsAdjacent, __VA_ARGS__) \
  LANE_PRODUCT_OF(product_##size##_nt, kTermsAdjacent, kTermsAdjacent, __VA_ARGS__)   \
  LANE_PRODUCT_OF(product_##size##_tn, kVectorsAdjacent, kVectorsAdjacent, __VA_ARGS__)
// Kernels for any strides.
#define LANE_ANY_PRODUCT(size, ...)                                             \
  LANE_PRODUCT_OF(product_##size##_na, kTermsAdjacent, kStrided, __VA_ARGS__)   \
  LANE_PRODUCT_OF(product_##size##_ta, kVectorsAdjacent, kStrided, __VA_ARGS__) \
  LANE_PRODUCT_OF(product_##size##_aa, kStrided, kStrided, __VA_ARGS__)
static constexpr int kSharedDepth = sizeof(T) == 4 ? 16 : 8;
static constexpr int kMost = sizeof(T) == 4 ? 128 : 64;  // shared memory holds no more doubles
LANE_PRODUCT(128x128, Tile<kMost, kMost, 8, 8, kSharedDepth>)
LANE_PRODUCT(128x64, Tile<128, 64, 8, 4, kSharedDepth>)
LANE_PRODUCT(64x128, Tile<64, 128, 8, 8, kSharedDepth>)
LANE_PRODUCT(64x64, Tile<64, 64, 8, 4, kSharedDepth>)
LANE_PRODUCT(32x64, Tile<32, 64, 4, 4, 2 * kSharedDepth>)
LANE_PRODUCT(32x32, Tile<32, 32, 4, 4, 2 * kSharedDepth>)
LANE_PRODUCT(32x16, Tile<32, 16, 4, 4, 2 * kSharedDepth>)
LANE_ANY_PRODUCT(64x64, Tile<64, 64, 8, 4, kSharedDepth>)
LANE_ANY_PRODUCT(32x32, Tile<32, 32, 4, 4, 2 * kSharedDepth>)
// NOLINTEND
