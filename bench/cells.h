#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/cases.h"

namespace lanista::bench {

/// A cell in the manner of NAS-Bench-201 (Dong and Yang, ICLR'20): four values, an operation on each of the six edges
/// between them, a value is the sum of what its edges bring.
struct Cell {
  enum Op : std::uint8_t { kNone, kSkip, kConv1, kConv3, kPool };
  struct Edge {
    std::size_t from = 0, to = 0;
  };
  static constexpr std::array<Edge, 6> kEdges{{{0, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 3}}};
  static constexpr std::array<std::string_view, 5> kNames{"none", "skip", "conv1", "conv3", "pool"};

  std::array<Op, 6> ops{};  ///< of the edges, in their order
};

inline constexpr std::int64_t kMaxCells = 64;

/// Models of the size of case nb201-cell, each with another cell, drawn: no two compute the same function of their
/// weights, and every value of each counts. The first of more are the same. At most kMaxCells.
std::vector<Cell> random_cells(std::int64_t count);

/// The model with that cell in the place of nb201-cell's, for the same batch.
Case cell_case(const Cell& cell);

}  // namespace lanista::bench
