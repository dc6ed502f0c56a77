#pragma once
// The register kernel of every product. A tile of up to kMaxTileRows rows and two vectors of columns stays in registers
// while the terms are added in ascending order. So the shape of the tile does not change the result.

#include <utility>

#include "lanista/exec/kernels/family/vector_ops.inc.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

/// The terms of a tile: for tap_h, for tap_w, for k: acc[row][column] += a[row][...] * b[...][column]. Steps are in
/// elements and may be negative.
template <class T>
struct Terms {
  i64 taps_h = 1, taps_w = 1, k = 0;
  i64 a_tap_h = 0, a_tap_w = 0, a_k = 1;
  i64 b_tap_h = 0, b_tap_w = 0, b_k = 0;
  const T* b = nullptr;
  const T* bias = nullptr;
  bool accumulate = false;  // continue the sums found in y
  bool relu = false;
};

/// Rows of a tile anywhere in memory.
template <class T>
struct RowPointers {
  const T* const* a;
  T* const* y;
  const T* source(int r) const { return a[r]; }
  T* target(int r) const { return y[r]; }
  void advance(i64) {}
};

/// Rows of one tile after the other, at even distances.
template <class T>
struct RowSteps {
  const T* a;
  i64 a_step;
  T* y;
  i64 y_step;
  const T* source(int r) const { return a + r * a_step; }
  T* target(int r) const { return y + r * y_step; }
  void advance(i64 rows) {
    a += rows * a_step;
    y += rows * y_step;
  }
};

/// One tile; `part` is the number of columns in the last vector of a tile with a partial one.
template <class T, int kRows, int kColumns, bool kPart, class Rows>
inline void one_tile(const Terms<T>& terms, const Rows& rows, i64 part) {
  using S = Wide<T>;
  using V = typename S::V;
  constexpr i64 kW = S::kWidth;
  const auto load = [part](const T* p, int j) {
    return kPart && j == kColumns - 1 ? S::load_part(p + j * kW, part) : S::load(p + j * kW);
  };
  const T* row[kRows];
  V acc[kRows][kColumns];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    row[r] = rows.source(r);
#pragma GCC unroll 2
    for (int j = 0; j < kColumns; ++j) acc[r][j] = V{};
  }
  if (terms.accumulate) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int j = 0; j < kColumns; ++j) acc[r][j] = load(rows.target(r), j);
    }
  }
  const i64 k = terms.k, a_k = terms.a_k, b_k = terms.b_k;
  for (i64 th = 0; th < terms.taps_h; ++th) {
    for (i64 tw = 0; tw < terms.taps_w; ++tw) {
      i64 at = th * terms.a_tap_h + tw * terms.a_tap_w;
      const T* b = terms.b + th * terms.b_tap_h + tw * terms.b_tap_w;
      for (i64 i = 0; i < k; ++i, at += a_k, b += b_k) {
        V column[kColumns];
#pragma GCC unroll 2
        for (int j = 0; j < kColumns; ++j) column[j] = load(b, j);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          const V left = S::set(row[r][at]);
#pragma GCC unroll 2
          for (int j = 0; j < kColumns; ++j) acc[r][j] = S::madd(left, column[j], acc[r][j]);
        }
      }
    }
  }
  if (terms.bias != nullptr) {
#pragma GCC unroll 2
    for (int j = 0; j < kColumns; ++j) {
      const V bias = load(terms.bias, j);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) acc[r][j] = acc[r][j] + bias;
    }
  }
  if (terms.relu) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int j = 0; j < kColumns; ++j) acc[r][j] = relu_of(acc[r][j]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < kColumns; ++j) {
      if (kPart && j == kColumns - 1) {
        S::store_part(rows.target(r) + j * kW, acc[r][j], part);
      } else {
        S::store(rows.target(r) + j * kW, acc[r][j]);
      }
    }
  }
}

template <class T, int kRows, int kColumns, bool kPart, class Rows>
void tile(const Terms<T>& terms, Rows rows, i64 tiles, i64 part) {
  for (; tiles > 0; --tiles, rows.advance(kRows)) one_tile<T, kRows, kColumns, kPart>(terms, rows, part);
}

template <class T, class Rows>
using TileFunction = void (*)(const Terms<T>&, Rows, i64 tiles, i64 part);

template <class T, class Rows, int kRows>
struct TileColumn {
  static constexpr TileFunction<T, Rows> kForms[4] = {tile<T, kRows, 1, false, Rows>, tile<T, kRows, 1, true, Rows>,
                                                      tile<T, kRows, 2, false, Rows>, tile<T, kRows, 2, true, Rows>};
};
/// One vector of columns leaves registers for twice the rows.
template <class T, class Rows, int kRows>
struct TallTile {
  static constexpr TileFunction<T, Rows> kForms[2] = {tile<T, kRows, 1, false, Rows>, tile<T, kRows, 1, true, Rows>};
};

template <class T, class Rows, int... kRows>
inline TileFunction<T, Rows> tile_function(i64 rows, int form, std::integer_sequence<int, kRows...>) {
  static constexpr const TileFunction<T, Rows>* kByRows[] = {TileColumn<T, Rows, kRows + 1>::kForms...};
  return kByRows[rows - 1][form];
}
template <class T, class Rows, int... kRows>
inline TileFunction<T, Rows> tall_function(i64 rows, int form, std::integer_sequence<int, kRows...>) {
  static constexpr const TileFunction<T, Rows>* kByRows[] = {TallTile<T, Rows, kMaxTileRows + kRows + 1>::kForms...};
  return kByRows[rows - kMaxTileRows - 1][form];
}
template <class T, class Rows>
inline TileFunction<T, Rows> tile_function(i64 rows, int form) {
  return tile_function<T, Rows>(rows, form, std::make_integer_sequence<int, kMaxTileRows>());
}

/// Variant of a column block of 1 .. 2 W columns, and the number of columns in its last vector.
template <class T>
struct ColumnBlock {
  static constexpr i64 kMost = 2 * Wide<T>::kWidth;
  explicit ColumnBlock(i64 columns) {
    constexpr i64 kW = Wide<T>::kWidth;
    const bool two = columns > kW;
    part = columns - (two ? kW : 0);
    form = (two ? 2 : 0) + (part < kW ? 1 : 0);
  }
  int form;
  i64 part;
};

/// All columns of a row tile, two vectors at a time. `terms.b`, `terms.bias` and y point at column 0.
template <class T>
inline void tile_columns(Terms<T> terms, i64 rows, i64 columns, const T* const* a, T* const* y) {
  constexpr i64 kMost = ColumnBlock<T>::kMost;
  T* out[kMaxTileRows];
  for (i64 r = 0; r < rows; ++r) out[r] = y[r];
  for (i64 c = 0; c < columns; c += kMost) {
    const ColumnBlock<T> block(smaller(columns - c, kMost));
    tile_function<T, RowPointers<T>>(rows, block.form)(terms, {a, out}, 1, block.part);
    terms.b += kMost;
    if (terms.bias != nullptr) terms.bias += kMost;
    for (i64 r = 0; r < rows; ++r) out[r] += kMost;
  }
}

/// One column block of `count` equally spaced rows, split into tiles of nearly equal size. A tile with few rows would
/// wait for its own sums.
template <class T>
inline void tile_rows(const Terms<T>& terms, RowSteps<T> rows, i64 count, const ColumnBlock<T>& block) {
  if (count == 0) return;
  const i64 most = block.form < 2 ? 2 * kMaxTileRows : kMaxTileRows;
  const i64 tiles = (count + most - 1) / most;
  const i64 share = count / tiles, larger_ones = count % tiles;
  const auto run = [&](i64 height, i64 number) {
    if (number == 0) return;
    const auto function =
        height > kMaxTileRows
            ? tall_function<T, RowSteps<T>>(height, block.form, std::make_integer_sequence<int, kMaxTileRows>())
            : tile_function<T, RowSteps<T>>(height, block.form);
    function(terms, rows, number, block.part);
    rows.advance(height * number);
  };
  run(share + 1, larger_ones);
  run(share, tiles - larger_ones);
}

/// Rows of the next tile of at most `most` when `rows` remain.
inline i64 even_share(i64 rows, i64 most) {
  const i64 tiles = (rows + most - 1) / most;
  return (rows + tiles - 1) / tiles;
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
