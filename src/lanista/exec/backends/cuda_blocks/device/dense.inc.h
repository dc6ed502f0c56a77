#pragma once
// Products, as sums over ascending k. A thread has a tile of outputs in registers and reads through the first cache. No
// sum is ever split, and the shape of the tile changes no bit.
#include "lanista/exec/backends/cuda_blocks/device/math.inc.h"

namespace lanista::device::block {
namespace {

/// c[i][j] = sum over k of a b, then the bias, then relu. Strides are in elements. There are `outer` x `inner`
/// matrices.
struct Product {
  Reals a, b, bias, c;
  bool biased, relu, wide_c;
  int m, n, k;
  int a_m, a_k, b_k, b_n, c_m, c_n;
  int outer, inner;
  int a_outer, b_outer, c_outer, a_inner, b_inner, c_inner;
  Finish finish;  // only if there is one matrix
};

/// How a tile reads an operand: one by one, four along k, or four along the outputs.
enum Reading { kOnes, kAlongK, kAcross };

/// Returns the number of terms that a tile loads ahead into registers. Large tiles have other warps to hide latency.
BLOCK_CONSTANT int ahead_of(int rows, int columns) { return rows * columns <= 8 ? 4 : rows * columns <= 16 ? 2 : 1; }

template <int kRows, int kColumns, Reading kLeft, Reading kRight>
BLOCK_FN void product_tile(const Product& p, Reals a, Reals b, Reals c, int row, int column) {
  float sum[kRows][kColumns];
  int left_at[kRows], right_at[kColumns];
  BLOCK_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    left_at[r] = smaller(row + r, p.m - 1) * p.a_m;
    BLOCK_UNROLL(4)
    for (int j = 0; j < kColumns; ++j) sum[r][j] = 0.0F;
  }
  BLOCK_UNROLL(4)
  for (int j = 0; j < kColumns; ++j) right_at[j] = smaller(column + j, p.n - 1) * p.b_n;
  [[maybe_unused]] constexpr int kAhead = ahead_of(kRows, kColumns);
  int k = 0;
  BLOCK_UNROLL_BY(kAhead)
  for (; k + 4 <= p.k; k += 4) {
    float left[4][kRows], right[4][kColumns];
    if (kLeft == kAlongK) {
      BLOCK_UNROLL(8)
      for (int r = 0; r < kRows; ++r) {
        const Four four = load4(a, left_at[r] + k);
        BLOCK_UNROLL(4)
        for (int q = 0; q < 4; ++q) left[q][r] = four.v[q];
      }
    } else if (kLeft == kAcross) {
      BLOCK_UNROLL(4)
      for (int q = 0; q < 4; ++q) {
        BLOCK_UNROLL(2)
        for (int r = 0; r + 4 <= kRows; r += 4) {
          const Four four = load4(a, row + r + (k + q) * p.a_k);
          BLOCK_UNROLL(4)
          for (int j = 0; j < 4; ++j) left[q][r + j] = four.v[j];
        }
      }
    } else {
      BLOCK_UNROLL(4)
      for (int q = 0; q < 4; ++q) {
        BLOCK_UNROLL(8)
        for (int r = 0; r < kRows; ++r) left[q][r] = a[left_at[r] + (k + q) * p.a_k];
      }
    }
    if (kRight == kAlongK) {
      BLOCK_UNROLL(4)
      for (int j = 0; j < kColumns; ++j) {
        const Four four = load4(b, right_at[j] + k);
        BLOCK_UNROLL(4)
        for (int q = 0; q < 4; ++q) right[q][j] = four.v[q];
      }
    }
    BLOCK_UNROLL(4)
    for (int q = 0; q < 4; ++q) {
      if (kRight == kAlongK) continue;
      if (kRight == kAcross) {
        BLOCK_UNROLL(2)
        for (int j = 0; j + 4 <= kColumns; j += 4) {
          const Four four = load4(b, column + j + (k + q) * p.b_k);
          BLOCK_UNROLL(4)
          for (int i = 0; i < 4; ++i) right[q][j + i] = four.v[i];
        }
      } else {
        BLOCK_UNROLL(4)
        for (int j = 0; j < kColumns; ++j) right[q][j] = b[right_at[j] + (k + q) * p.b_k];
      }
    }
    BLOCK_UNROLL(4)
    for (int q = 0; q < 4; ++q) {
      BLOCK_UNROLL(8)
      for (int r = 0; r < kRows; ++r) {
        BLOCK_UNROLL(4)
        for (int j = 0; j < kColumns; ++j) sum[r][j] = madd(left[q][r], right[q][j], sum[r][j]);
      }
    }
  }
  BLOCK_UNROLL_BY(1)
  for (; k < p.k; ++k) {
    BLOCK_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      const float left = a[left_at[r] + k * p.a_k];
      BLOCK_UNROLL(4)
      for (int j = 0; j < kColumns; ++j) sum[r][j] = madd(left, b[right_at[j] + k * p.b_k], sum[r][j]);
    }
  }
  Four bias = {};
  BLOCK_UNROLL(4)
  for (int j = 0; j < kColumns; ++j) {
    if (p.biased) bias.v[j] = p.bias[smaller(column + j, p.n - 1)];
  }
  BLOCK_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    if (row + r >= p.m) continue;
    Four value;
    BLOCK_UNROLL(4)
    for (int j = 0; j < kColumns; ++j) {
      value.v[j] = p.biased ? sum[r][j] + bias.v[j] : sum[r][j];
      if (p.relu) value.v[j] = relu_of(value.v[j]);
    }
    if (kRight == kAcross && p.wide_c) {
      const int to = (row + r) * p.c_m + column;
      store4(c, to, p.finish.four_at(to, value));
      continue;
    }
    BLOCK_UNROLL(4)
    for (int j = 0; j < kColumns; ++j) {
      const int to = (row + r) * p.c_m + (column + j) * p.c_n;
      if (column + j < p.n) c[to] = p.finish.at(to, value.v[j]);
    }
  }
}

/// n: m, m per sample, n, k, k per sample, a_m, a_k, b_k, b_n, c_m, c_n.
/// Then matrices per sample (0: one in all), inner ones, a_outer, b_outer, c_outer, a_inner, b_inner, c_inner, relu.
/// at: a, b, bias, c.
BLOCK_FN Product product_of(const Call& call, const Frame& f) {
  const int* n = call.n;
  Product p;
  p.a = place(f, call.at[0]);
  p.b = place(f, call.at[1]);
  p.biased = call.at[2] != kNowhere;
  p.bias = p.biased ? place(f, call.at[2]) : p.b;
  p.c = place(f, call.at[3]);
  p.m = n[0] + n[1] * f.batch;
  p.n = n[2];
  p.k = n[3] + n[4] * f.batch;
  p.a_m = n[5];
  p.a_k = n[6];
  p.b_k = n[7];
  p.b_n = n[8];
  p.c_m = n[9];
  p.c_n = n[10];
  p.outer = n[11] == 0 ? 1 : n[11] * f.batch;
  p.inner = n[12];
  p.a_outer = n[13];
  p.b_outer = n[14];
  p.c_outer = n[15];
  p.a_inner = n[16];
  p.b_inner = n[17];
  p.c_inner = n[18];
  p.relu = n[19] != 0;
  p.finish = finish_of(call, f);
  p.wide_c = p.c_n == 1 && p.c_m % 4 == 0 && p.n % 4 == 0 && p.c_outer % 4 == 0 && p.inner == 1 && whole(p.c) &&
             whole(p.finish.saved);
  return p;
}

BLOCK_FN int tiles_of(const Product& p, int rows, int columns) {
  return p.outer * p.inner * ((p.m + rows - 1) / rows) * ((p.n + columns - 1) / columns);
}

/// Loads contiguous operands that exceed the first cache while the first tiles begin. Rows of tiles read them
/// repeatedly.
BLOCK_FN void bring_near(const Product& p) {
  if (p.outer * p.inner != 1 || p.k * p.n < 32768 || p.b_n != 1 || p.b_k != p.n) return;
  prefetch(p.b, p.k * p.n, 0);
}

// Every form reads the numbers of the call itself. As arguments, they would go through the local memory of each thread.
template <int kRows, int kColumns, Reading kLeft, Reading kRight>
BLOCK_NOINLINE_FN int product_by(const Call& call, const Frame& f, int first_thread) {
  const Product p = product_of(call, f);
  bring_near(p);
  const int rows = (p.m + kRows - 1) / kRows, columns = (p.n + kColumns - 1) / kColumns;
  const int items = p.outer * p.inner * rows * columns;
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < items; i += kThreads) {
      const int inside = i % p.inner, tile = i / p.inner;
      const int column = tile % columns, rest = tile / columns;
      const int row = rest % rows, outside = rest / rows;
      product_tile<kRows, kColumns, kLeft, kRight>(
          p, p.a + (outside * p.a_outer + inside * p.a_inner), p.b + (outside * p.b_outer + inside * p.b_inner),
          p.c + (outside * p.c_outer + inside * p.c_inner), row * kRows, column * kColumns);
    }
  }
  return used(items);
}

/// Terms of both operands, with contiguous rows.
template <int kRows>
struct Terms {
  static constexpr int kCount = kRows == 1 ? 8 : 4;
  Column<kRows> left[kCount];
  Four right[kCount];
};

template <int kRows>
BLOCK_FN Terms<kRows> terms_at(Reals a, int a_step, Reals b, int b_step) {
  BLOCK_GLOBAL(a);
  BLOCK_GLOBAL(b);
  Terms<kRows> terms;
  BLOCK_UNROLL(8)
  for (int q = 0; q < Terms<kRows>::kCount; ++q) {
    terms.left[q] = column_at<kRows>(a, q * a_step);
    terms.right[q] = load4(b, q * b_step);
  }
  return terms;
}

template <int kRows>
BLOCK_FN void add_term(const Column<kRows>& left, const Four& right, Four (&sum)[kRows]) {
  BLOCK_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    BLOCK_UNROLL(4)
    for (int j = 0; j < 4; ++j) sum[r].v[j] = madd(left.v[r], right.v[j], sum[r].v[j]);
  }
}
template <int kRows>
BLOCK_FN void add_terms(const Terms<kRows>& terms, Four (&sum)[kRows]) {
  BLOCK_UNROLL(8)
  for (int q = 0; q < Terms<kRows>::kCount; ++q) add_term(terms.left[q], terms.right[q], sum);
}

/// Outputs of a few rows and four columns, from term k to k_end. Terms are loaded while the last ones are multiplied.
template <int kRows>
BLOCK_FN void long_tile(const Product& p, int row, int column, int k, int k_end) {
  constexpr int kCount = Terms<kRows>::kCount;
  const Reals c = p.c + (row * p.c_m + column * p.c_n);
  Four sum[kRows];
  BLOCK_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    BLOCK_UNROLL(4)
    for (int j = 0; j < 4; ++j) sum[r].v[j] = k == 0 ? 0.0F : c[r * p.c_m + j * p.c_n];  // continues a sum
  }
  Reals a = p.a + (k * p.m + row), b = p.b + (k * p.n + column);
  const int a_block = kCount * p.m, b_block = kCount * p.n;
  if (k + kCount <= k_end) {
    Terms<kRows> now = terms_at<kRows>(a, p.m, b, p.n);
    BLOCK_UNROLL_BY(2)
    for (k += kCount; k + kCount <= k_end; k += kCount) {
      a = a + a_block;
      b = b + b_block;
      const Terms<kRows> next = terms_at<kRows>(a, p.m, b, p.n);
      add_terms(now, sum);
      now = next;
    }
    add_terms(now, sum);
    a = a + a_block;
    b = b + b_block;
  }
  BLOCK_UNROLL_BY(1)
  for (; k < k_end; ++k) {
    add_term(column_at<kRows>(a, 0), load4(b, 0), sum);
    a = a + p.m;
    b = b + p.n;
  }
  BLOCK_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    BLOCK_UNROLL(4)
    for (int j = 0; j < 4; ++j) c[r * p.c_m + j * p.c_n] = sum[r].v[j];
  }
}

/// Sums of a weight gradient, which are long and few. Rows of both operands are contiguous.
template <int kRows>
BLOCK_NOINLINE_FN int product_in_chunks(const Call& call, const Frame& f) {
  const Product p = product_of(call, f);
  const int columns = p.n / 4, items = p.m / kRows * columns;
  in_chunks(
      p.k, rows_at_once(p.k, p.m + p.n), items,
      [&](int begin, int some, int busy) {
        prefetch(p.a + begin * p.m, some * p.m, busy);
        prefetch(p.b + begin * p.n, some * p.n, busy);
      },
      [&](int i, int begin, int end) { long_tile<kRows>(p, i / columns * kRows, i % columns * 4, begin, end); });
  return 0;
}

/// Returns the estimated cycles per term of long sums: multiplications and reads of few warps, which cannot hide
/// latency, or the throughput of the first cache.
BLOCK_FN int spent_on_long(const Product& p, int rows) {
  const int items = p.m / rows * (p.n / 4), warps = (items + 31) / 32,
            of_block = (warps + cluster_size() - 1) / cluster_size();
  return larger((of_block + 3) / 4 * (4 * rows + 7), of_block * (rows + 4));
}

/// Returns the estimated cost of a product with tiles of that size, in cycles per term.
BLOCK_FN int spent_on(const Product& p, int rows, int columns) {
  return estimated_cost(tiles_of(p, rows, columns), rows, columns, 72 / ahead_of(rows, columns));
}

template <Reading kLeft>
BLOCK_FN int product_of_fours(const Product& p, const Call& call, const Frame& f, int first_thread) {
  constexpr Reading kFew = kLeft == kAlongK ? kAlongK : kOnes;
  const int many = 1 << 30;
  const int eight = kLeft != kOnes && (kLeft != kAcross || p.m % 8 == 0) ? spent_on(p, 8, 4) : many;
  const int four = kLeft != kOnes ? spent_on(p, 4, 4) : many;
  const int two = spent_on(p, 2, 4), one = spent_on(p, 1, 4);
  if (kLeft != kOnes && eight <= four && eight <= two && eight <= one)
    return product_by<8, 4, kLeft, kAcross>(call, f, first_thread);
  if (kLeft != kOnes && four <= two && four <= one) return product_by<4, 4, kLeft, kAcross>(call, f, first_thread);
  return two <= one ? product_by<2, 4, kFew, kAcross>(call, f, first_thread)
                    : product_by<1, 4, kFew, kAcross>(call, f, first_thread);
}

/// at and n: as for product_of.
BLOCK_OP int op_product(const Call& call, const Frame& f, int first_thread) {
  const Product p = product_of(call, f);
  const bool right = p.b_n == 1 && p.b_k % 4 == 0 && p.n % 4 == 0 && p.b_outer % 4 == 0 && p.inner == 1 && whole(p.b);
  const bool left = p.inner == 1 && p.a_outer % 4 == 0 && whole(p.a);
  const bool rows_together = p.outer == 1 && p.a_m == 1 && p.a_k == p.m && p.b_k == p.n && !p.biased && !p.relu &&
                             p.finish.after == kNoEpilogue;
  if (right && rows_together && p.k * (p.m + p.n) >= 16384 && p.m * p.n <= 8 * kThreads) {
    const int many = 1 << 30, four = left && p.m % 4 == 0 ? spent_on_long(p, 4) : many;
    const int two = left && p.m % 2 == 0 ? spent_on_long(p, 2) : many, one = spent_on_long(p, 1);
    if (four <= two && four <= one) return product_in_chunks<4>(call, f);
    return two <= one ? product_in_chunks<2>(call, f) : product_in_chunks<1>(call, f);
  }
  if (left && right) {
    if (p.a_k == 1 && p.a_m % 4 == 0) return product_of_fours<kAlongK>(p, call, f, first_thread);
    if (p.a_m == 1 && p.a_k % 4 == 0 && p.m % 4 == 0) return product_of_fours<kAcross>(p, call, f, first_thread);
  }
  if (right) return product_of_fours<kOnes>(p, call, f, first_thread);
  if (left && p.a_k == 1 && p.a_m % 4 == 0 && p.b_k == 1 && p.b_n % 4 == 0 && p.b_outer % 4 == 0 && p.inner == 1 &&
      whole(p.b)) {
    return product_by<4, 4, kAlongK, kAlongK>(call, f, first_thread);
  }
  if (tiles_of(p, 4, 2) >= kThreads) return product_by<4, 2, kOnes, kOnes>(call, f, first_thread);
  return product_by<1, 1, kOnes, kOnes>(call, f, first_thread);
}

/// Returns the plain sum of a column after the rows from begin to end.
BLOCK_FN float column_sum(float sum, Reals x, int begin, int end, int columns, int column) {
  BLOCK_UNROLL_BY(16)
  for (int r = begin; r < end; ++r) sum += x[r * columns + column];
  return sum;
}

/// Plain ascending sums over rows. n: rows per sample, columns. at: x, y.
BLOCK_OP int op_column_sum(const Call& call, const Frame& f, int first_thread) {
  const Reals x = place(f, call.at[0]), y = place(f, call.at[1]);
  const int rows = call.n[0] * f.batch, columns = call.n[1];
  if (4 * columns <= kThreads && rows * columns >= 4096) {
    in_chunks(
        rows, rows_at_once(rows, columns), columns,
        [&](int begin, int some, int items) { prefetch(x + begin * columns, some * columns, items); },
        [&](int i, int begin, int end) { y[i] = column_sum(begin == 0 ? 0.0F : y[i], x, begin, end, columns, i); });
    return 0;
  }
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < columns; i += kThreads) {
      y[i] = column_sum(0.0F, x, 0, rows, columns, i);
    }
  }
  return used(columns);
}

}  // namespace
}  // namespace lanista::device::block
