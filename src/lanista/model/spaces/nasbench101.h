#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::mutate {

/// A cell of NAS-Bench-101 (Ying et al., ICML'19): a directed acyclic graph of at most seven vertices and nine edges.
///
/// Vertex 0 is the input and the last vertex is the output. Each vertex between has an operation. Every vertex is on a
/// path from input to output, and edges lead from smaller to larger numbers.
struct Nasbench101Cell {
  static constexpr int kMaxVertices = 7, kMaxEdges = 9;  ///< limits of the benchmark
  static constexpr int kEdgeBits = 21;                   ///< pairs of seven vertices
  /// Number of raw encodings: 2^21 sets of edges times 3^5 operations.
  static constexpr std::int64_t kEncodings = 509'607'936;
  /// The operation of a vertex between input and output.
  enum Op : std::uint8_t { kConv3x3, kConv1x1, kMaxPool3x3 };

  int vertices = 2;                               ///< number of vertices (2 to 7), input and output included
  std::array<std::uint8_t, kMaxVertices> next{};  ///< bit j of next[i]: an edge from i to j
  std::array<Op, kMaxVertices - 2> ops{};         ///< operation of vertex v in ops[v - 1]; unused ones are 0

  /// True if there is an edge from vertex `from` to vertex `to`.
  bool edge(int from, int to) const { return (next[static_cast<std::size_t>(from)] >> to & 1) != 0; }
  /// The number of edges.
  int edges() const;
  bool operator==(const Nasbench101Cell&) const = default;
};

/// Makes a cell from the upper triangle of an adjacency matrix over seven vertices.
///
/// `edges` has true for each pair with an edge, in the order 0>1, 0>2, …, 0>6, 1>2, …, 5>6. `ops` has the operations of
/// vertices 1 to 5. Vertices on no path from input to output are removed. Errors: kNotApplicable if no path reaches the
/// output, or if more than nine edges are left.
Result<Nasbench101Cell> nasbench101_cell(std::span<const bool, Nasbench101Cell::kEdgeBits> edges,
                                         std::span<const Nasbench101Cell::Op, 5> ops);

/// The cell of raw encoding number `index` in [0, kEncodings). Errors as in `nasbench101_cell`.
Result<Nasbench101Cell> nasbench101_decode(std::int64_t index);
/// The number in [0, kEncodings) of an encoding that nasbench101_decode() turns into this cell.
std::int64_t nasbench101_encode(const Nasbench101Cell& cell);

/// The graph hash of the paper, equal for cells that differ only in the numbering of their vertices.
///
/// It starts with the degrees and the operation of each vertex. Once for each vertex, it then combines the sorted
/// hashes of the neighbours. No two of the 423,624 distinct cells have the same hash.
std::uint64_t nasbench101_hash(const Nasbench101Cell& cell);

/// All distinct cells with this number of vertices (2 to 7), in a fixed order.
///
/// There are 1, 6, 84, 2,441, 62,010 and 359,082 cells. Of each graph the first numbering is kept, and of its
/// labellings the first under its symmetries.
std::vector<Nasbench101Cell> nasbench101_cells(int vertices);

}  // namespace lanista::mutate
