#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/cases.h"

namespace lanista::bench {

/// A cell like those of NAS-Bench-201 (Dong and Yang, ICLR'20).
///
/// It has four values and an operation on each of the six edges between them. A value is the sum of its incoming edges.
struct Cell {
  /// The operation on an edge.
  enum Op : std::uint8_t { kNone, kSkip, kConv1, kConv3, kPool };
  /// An edge, by the numbers of its two values.
  struct Edge {
    std::size_t from = 0, to = 0;
  };
  static constexpr std::array<Edge, 6> kEdges{{{0, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 3}}};
  static constexpr std::array<std::string_view, 5> kNames{"none", "skip", "conv1", "conv3", "pool"};

  std::array<Op, 6> ops{};  ///< Operations in the order of kEdges.
};

/// Most cells of one benchmark.
inline constexpr std::int64_t kMaxCells = 64;

/// Random cells that all compute different functions.
///
/// Every value of a cell has an effect on its result, and a cell has a convolution. A smaller count gives the first of
/// the same cells. `count` is from 1 to kMaxCells.
std::vector<Cell> random_cells(std::int64_t count);

/// The case nb201-cell with `cell` as its cell and with a rate of 0.01.
Case cell_case(const Cell& cell);

}  // namespace lanista::bench
