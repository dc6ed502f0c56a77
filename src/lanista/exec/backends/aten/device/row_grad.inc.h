// Gradient of normalised rows and of their weights, so that both read dy and x once. A block has consecutive rows of a
// lane. Threads that share a row have the same columns in every row, and keep the sums of those columns.
// The order of a sum depends only on the number of rows of a lane.
// NOLINTBEGIN
// Number of threads that share a row, and number of fours per thread.
template <int ThreadsPerRow, int Fours>
struct RowTile {
  static constexpr int kThreads = RowGrad::kThreads, kFours = Fours, kThreadsPerRow = ThreadsPerRow;
  static constexpr int kAtOnce = kThreads / ThreadsPerRow, kRows = kAtOnce * RowGrad::kEach;
  static constexpr int kColumns = 4 * kFours * ThreadsPerRow;
  struct Shared {
    alignas(4 * sizeof(T)) T sums[kAtOnce][2 * kColumns];
  };
  struct ThreadState {
    Four weight[kFours], hat[kFours], back[kFours];  // normalised x and its gradient
    Four other[kFours];
    Four dots[kFours], sums[kFours];  // column sums of dy hat, and of dy
    T dot, sum, inverse;              // of the current row
  };
  LANE_STATIC_FN int column(int t, int four) { return (t % ThreadsPerRow + four * ThreadsPerRow) * 4; }
};

template <class Of>
LANE_FN void row_grad_of(i64 block, const RowGrad& a, typename Of::Shared& shared_memory, LANE_THREAD_STATES(Of) own) {
  constexpr int kThreads = Of::kThreads, kThreadsPerRow = Of::kThreadsPerRow, kFours = Of::kFours;
  const int len = int(a.len), rows = int(a.rows);
  const n32 lane = n32(block) / n32(a.parts), part = n32(block) % n32(a.parts);
  const bool fours = a.fours != 0;
  LANE_FOR_EACH_THREAD(t) {
    auto& o = LANE_THREAD_STATE;
    LANE_UNROLL for (int f = 0; f < kFours; ++f) {
      LANE_UNROLL for (int k = 0; k < 4; ++k) o.weight[f].v[k] = T(1);
      const int column = Of::column(t, f);
      if (a.weight && column < len) {
        o.weight[f] =
            lane_load_some(LANE_READ(weight) + lane * a.stride + column, a.weight_can_load_fours != 0, len - column);
      }
      o.dots[f] = o.sums[f] = lane_zeros();
    }
  }
  LANE_NO_UNROLL for (int first = int(part) * Of::kRows; first < int(part + 1) * Of::kRows; first += Of::kAtOnce) {
    if (first >= rows) break;
    LANE_FOR_EACH_THREAD(t) {
      auto& o = LANE_THREAD_STATE;
      const int row = first + t / kThreadsPerRow;
      const i64 at = i64(lane) * rows + row;
      const bool is = row < rows;
      Four x[kFours], dy[kFours];
      LANE_UNROLL for (int f = 0; f < kFours; ++f) {
        const int column = Of::column(t, f), count = is ? len - column : 0;
        x[f] = lane_load_some(LANE_READ(x) + at * len + column, fours, count);
        dy[f] = lane_load_some(LANE_READ(dy) + i64(n32(at) / n32(a.rows_per_dy)) * len + column, fours, count);
        o.other[f] = lane_zeros();
        if (a.other) o.other[f] = lane_load_some(LANE_READ(other) + at * len + column, fours, count);
      }
      const T mean = is ? LANE_READ(mean)[at] : T(0);
      o.inverse = is ? LANE_READ(inverse)[at] : T(0);
      o.dot = o.sum = T(0);
      LANE_UNROLL for (int f = 0; f < kFours; ++f) {
        LANE_UNROLL for (int k = 0; k < 4; ++k) {
          const T d = dy[f].v[k], hat = (x[f].v[k] - mean) * o.inverse, g = d * o.weight[f].v[k];
          o.hat[f].v[k] = hat;
          o.back[f].v[k] = g;
          o.dots[f].v[k] += hat * d;
          o.sums[f].v[k] += d;
          o.dot += g * hat;
          o.sum += g;
        }
      }
    }
    LANE_ROW_THREADS_SUM(kThreadsPerRow, dot);
    LANE_ROW_THREADS_SUM(kThreadsPerRow, sum);
    LANE_FOR_EACH_THREAD(t) {
      auto& o = LANE_THREAD_STATE;
      const int row = first + t / kThreadsPerRow;
      const T dot = o.dot / T(len), sum = o.sum / T(len);
      LANE_UNROLL for (int f = 0; f < kFours; ++f) {
        const int column = Of::column(t, f);
        if (row >= rows || column >= len) continue;
        Four y;
        LANE_UNROLL for (int k = 0; k < 4; ++k) {
          y.v[k] = o.inverse * ((o.back[f].v[k] - sum) - o.hat[f].v[k] * dot);
          if (a.other) y.v[k] = y.v[k] + o.other[f].v[k];
        }
        lane_store_some(LANE_WRITE(y) + (i64(lane) * rows + row) * len + column, y, fours, len - column);
      }
    }
  }
  LANE_FOR_EACH_THREAD(t) {
    auto& o = LANE_THREAD_STATE;
    LANE_UNROLL for (int f = 0; f < kFours; ++f) {
      *(Four*)&shared_memory.sums[t / kThreadsPerRow][Of::column(t, f)] = o.dots[f];
      *(Four*)&shared_memory.sums[t / kThreadsPerRow][Of::kColumns + Of::column(t, f)] = o.sums[f];
    }
  }
  LANE_BARRIER;
  LANE_FOR_EACH_THREAD(t) {
    double* const out = a.sums + block * 2 * len;
    LANE_NO_UNROLL for (int c = t; c < 2 * len; c += kThreads) {
      double sum = 0;
      LANE_UNROLL for (int row = 0; row < Of::kAtOnce; ++row) {
        sum += double(shared_memory.sums[row][c < len ? c : Of::kColumns + c - len]);
      }
      out[c] = sum;
    }
  }
}
// By the longest row.
LANE_TILE_KERNEL(row_grad_64, RowGrad, LANE_ARGUMENTS(row_grad_of<RowTile<16, 1>>), RowTile<16, 1>)
LANE_TILE_KERNEL(row_grad_128, RowGrad, LANE_ARGUMENTS(row_grad_of<RowTile<32, 1>>), RowTile<32, 1>)
LANE_TILE_KERNEL(row_grad_256, RowGrad, LANE_ARGUMENTS(row_grad_of<RowTile<32, 2>>), RowTile<32, 2>)
// NOLINTEND
