#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "lanista/base/result.h"

namespace lanista::mutate {

/// A cell of NAS-Bench-101 (Ying et al., ICML'19): a directed acyclic graph of at most seven vertices and nine edges.
///
/// Vertex 0 is the input and the last vertex is the output. Each vertex between has an operation. Every vertex is on a
/// path from input to output, and edges lead from smaller to larger numbers.
struct Nasbench101Cell {
  static constexpr int kMaxVertices = 7, kMaxEdges = 9;  ///< limits of the benchmark
  static constexpr int kEdgeBits = 21;                   ///< pairs of seven vertices
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
/// vertices 1 to 5. Vertices on no path from input to output are removed, and the others get new numbers without gaps.
/// Errors: kNotApplicable if no path reaches the output, or if more than nine edges are left.
Result<Nasbench101Cell> nasbench101_cell(std::span<const bool, Nasbench101Cell::kEdgeBits> edges,
                                         std::span<const Nasbench101Cell::Op, 5> ops);

}  // namespace lanista::mutate
