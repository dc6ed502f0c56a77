// Mean over normalised rows that no other operator reads. A block computes one mean, with the threads of
// row_grad.inc.h.
// NOLINTBEGIN
template <int ThreadsPerRow, int Fours>
struct MeanTile {
  static constexpr int kThreads = RowMean::kThreads, kFours = Fours, kThreadsPerRow = ThreadsPerRow;
  static constexpr int kAtOnce = kThreads / ThreadsPerRow, kColumns = 4 * kFours * ThreadsPerRow;
  struct Shared {
    double sums[kAtOnce][kColumns];
  };
  struct ThreadState {
    Four x[kFours];
    double sums[kFours][4];  // per column
    T mean, sum, squares;    // of the row; sum is over differences to its first element
  };
  LANE_STATIC_FN int column(int t, int four) { return (t % ThreadsPerRow + four * ThreadsPerRow) * 4; }
};

template <class Of>
LANE_FN void row_mean_of(i64 block, const RowMean& a, typename Of::Shared& shared_memory, LANE_THREAD_STATES(Of) own) {
  constexpr int kThreads = Of::kThreads, kThreadsPerRow = Of::kThreadsPerRow, kFours = Of::kFours;
  const int len = int(a.len), rows = int(a.rows);
  LANE_FOR_EACH_THREAD(t) {
    auto& o = LANE_THREAD_STATE;
    LANE_UNROLL for (int f = 0; f < kFours; ++f) { LANE_UNROLL for (int k = 0; k < 4; ++k) o.sums[f][k] = 0; }
  }
  LANE_NO_UNROLL for (int first = 0; first < rows; first += Of::kAtOnce) {
    LANE_FOR_EACH_THREAD(t) {
      auto& o = LANE_THREAD_STATE;
      const int row = first + t / kThreadsPerRow;
      const i64 at = block * rows + row;
      const bool is = row < rows;
      LANE_UNROLL for (int f = 0; f < kFours; ++f) {
        const int column = Of::column(t, f);
        o.x[f] = lane_load_some(LANE_READ(x) + at * len + column, a.fours != 0, is ? len - column : 0);
      }
      o.mean = is ? LANE_READ(x)[at * len] : T(0);
      o.sum = T(0);
      LANE_UNROLL for (int f = 0; f < kFours; ++f) {
        LANE_UNROLL for (int k = 0; k < 4; ++k) {
          if (Of::column(t, f) + k < len) o.sum += o.x[f].v[k] - o.mean;
        }
      }
    }
    LANE_ROW_THREADS_SUM(kThreadsPerRow, sum);
    LANE_FOR_EACH_THREAD(t) {
      auto& o = LANE_THREAD_STATE;
      o.mean = o.mean + o.sum / T(len);
      o.squares = T(0);
      LANE_UNROLL for (int f = 0; f < kFours; ++f) {
        LANE_UNROLL for (int k = 0; k < 4; ++k) {
          const T d = o.x[f].v[k] - o.mean;
          if (Of::column(t, f) + k < len) o.squares += d * d;
        }
      }
    }
    LANE_ROW_THREADS_SUM(kThreadsPerRow, squares);
    LANE_FOR_EACH_THREAD(t) {
      auto& o = LANE_THREAD_STATE;
      const int row = first + t / kThreadsPerRow;
      const T inverse = T(1) / LANE_SQRT(o.squares / T(len) + T(a.eps));
      if (row < rows) {
        LANE_UNROLL for (int f = 0; f < kFours; ++f) {
          LANE_UNROLL for (int k = 0; k < 4; ++k) o.sums[f][k] += double((o.x[f].v[k] - o.mean) * inverse);
        }
        if (t % kThreadsPerRow == 0) {
          LANE_WRITE(mean)[block * rows + row] = o.mean;
          LANE_WRITE(inverse)[block * rows + row] = inverse;
        }
      }
    }
  }
  LANE_FOR_EACH_THREAD(t) {
    auto& o = LANE_THREAD_STATE;
    LANE_UNROLL for (int f = 0; f < kFours; ++f) {
      LANE_UNROLL for (int k = 0; k < 4; ++k) shared_memory.sums[t / kThreadsPerRow][Of::column(t, f) + k] =
          o.sums[f][k];
    }
  }
  LANE_BARRIER;
  LANE_FOR_EACH_THREAD(t) {
    const i64 set = block / a.samples * a.stride;
    LANE_NO_UNROLL for (int c = t; c < len; c += kThreads) {
      double sum = 0;
      LANE_UNROLL for (int row = 0; row < Of::kAtOnce; ++row) sum += shared_memory.sums[row][c];
      T y = T(sum / double(rows));
      if (a.weight) y = y * LANE_READ(weight)[set + c] + LANE_READ(bias)[set + c];
      LANE_WRITE(y)[block * len + c] = y;
    }
  }
}
LANE_TILE_KERNEL(row_mean_64, RowMean, LANE_ARGUMENTS(row_mean_of<MeanTile<16, 1>>), MeanTile<16, 1>)
LANE_TILE_KERNEL(row_mean_128, RowMean, LANE_ARGUMENTS(row_mean_of<MeanTile<32, 1>>), MeanTile<32, 1>)
LANE_TILE_KERNEL(row_mean_256, RowMean, LANE_ARGUMENTS(row_mean_of<MeanTile<32, 2>>), MeanTile<32, 2>)
// NOLINTEND
