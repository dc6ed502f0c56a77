#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::mutate {

/// A cell of NAS-Bench-101 (Ying et al., ICML'19): a directed acyclic graph of at most seven vertices and nine edges,
/// the first the input and the last the output, an operation on each vertex between. Every vertex lies on a way from
/// input to output, and edges lead from smaller to larger numbers.
struct Nasbench101Cell {
  static constexpr int kMaxVertices = 7, kMaxEdges = 9;
  static constexpr int kEdgeBits = 21;  ///< pairs of seven vertices
  /// 21 edge bits and 5 operations of 3: the raw strings that searches walk in.
  static constexpr std::int64_t kEncodings = 509'607'936;
  enum Op : std::uint8_t { kConv3x3, kConv1x1, kMaxPool3x3 };

  int vertices = 2;
  std::array<std::uint8_t, kMaxVertices> next{};  ///< bit j of next[i]: an edge from i to j
  std::array<Op, kMaxVertices - 2> ops{};         ///< ops[v - 1] of vertex v; unused ones are 0

  bool edge(int from, int to) const { return (next[static_cast<std::size_t>(from)] >> to & 1) != 0; }
  int edges() const;
  bool operator==(const Nasbench101Cell&) const = default;
};

/// The cell that an upper triangular matrix over seven vertices means: `edges` bit by bit in the order 0>1, 0>2, …,
/// 0>6, 1>2, …, 5>6. Vertices on no way from input to output are cut off first. Errors: kNotApplicable if the output is
/// not reached or more than nine edges are left.
Result<Nasbench101Cell> nasbench101_cell(std::span<const bool, Nasbench101Cell::kEdgeBits> edges,
                                         std::span<const Nasbench101Cell::Op, 5> ops);

/// Raw encoding `index` in [0, kEncodings) as a cell; errors as nasbench101_cell.
Result<Nasbench101Cell> nasbench101_decode(std::int64_t index);
/// A raw encoding that decodes to this very cell.
std::int64_t nasbench101_encode(const Nasbench101Cell& cell);

/// Equal for cells that differ in the numbering of their vertices only: the iterated neighbourhood hash of the paper
/// (in- and out-degree and operation of each vertex, then as often as there are vertices the sorted hashes of its
/// neighbours). No two of the 423,624 cells share one.
std::uint64_t nasbench101_hash(const Nasbench101Cell& cell);

/// All distinct cells of exactly so many vertices (2 to 7), in a fixed order: 1, 6, 84, 2,441, 62,010, 359,082.
/// Distinct by construction: of each graph the first numbering is kept, of its labellings the first under its
/// symmetries.
std::vector<Nasbench101Cell> nasbench101_cells(int vertices);

}  // namespace lanista::mutate
