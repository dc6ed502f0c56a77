#include "support/model/spaces/nasbench101_cells.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

#include "lanista/base/check.h"

namespace lanista::mutate::testing {

using Cell = Nasbench101Cell;

namespace {

using Bits = std::uint8_t;                                       // a set of vertices
using Matrix = std::array<Bits, Cell::kMaxVertices>;             // row i: the targets of the edges of vertex i
using Numbering = std::array<std::uint8_t, Cell::kMaxVertices>;  // old number -> new number

std::size_t at(int i) { return static_cast<std::size_t>(i); }
bool has(Bits set, int v) { return (set >> v & 1) != 0; }
Bits only(int v) { return static_cast<Bits>(1 << v); }

// Row by row: 0>1, 0>2, …; the first pair is the highest bit.
Matrix matrix_of(std::uint32_t code, int vertices) {
  Matrix next{};
  int bit = vertices * (vertices - 1) / 2;
  for (int i = 0; i < vertices; ++i) {
    for (int j = i + 1; j < vertices; ++j) {
      if ((code >> --bit & 1) != 0) next[at(i)] |= only(j);
    }
  }
  return next;
}

std::uint32_t code_of(const Matrix& next, int vertices) {
  std::uint32_t code = 0;
  for (int i = 0; i < vertices; ++i) {
    for (int j = i + 1; j < vertices; ++j) code = code << 1 | std::uint32_t{has(next[at(i)], j)};
  }
  return code;
}

Matrix reversed(const Matrix& next, int vertices) {
  Matrix previous{};
  for (int i = 0; i < vertices; ++i) {
    for (int j = i + 1; j < vertices; ++j) {
      if (has(next[at(i)], j)) previous[at(j)] |= only(i);
    }
  }
  return previous;
}

// Whether every vertex is on a path from the first to the last, by the transitive closure (Warshall).
bool is_whole(Matrix reach, int vertices) {
  for (int v = 0; v < vertices; ++v) reach[at(v)] |= only(v);
  for (int middle = 0; middle < vertices; ++middle) {
    for (int v = 0; v < vertices; ++v) {
      if (has(reach[at(v)], middle)) reach[at(v)] |= reach[at(middle)];
    }
  }
  for (int v = 0; v < vertices; ++v) {
    if (!has(reach[0], v) || !has(reach[at(v)], vertices - 1)) return false;
  }
  return true;
}

Matrix renumbered(const Matrix& next, int vertices, const Numbering& numbers) {
  Matrix result{};
  for (int i = 0; i < vertices; ++i) {
    for (Bits rest = next[at(i)]; rest != 0; rest &= static_cast<Bits>(rest - 1)) {
      result[numbers[at(i)]] |= only(numbers[at(std::countr_zero(rest))]);
    }
  }
  return result;
}

bool keeps_order(const Matrix& next, int vertices) {
  for (int i = 0; i < vertices; ++i) {
    if ((next[at(i)] & (only(i) - 1 + only(i))) != 0) return false;
  }
  return true;
}

}  // namespace

Result<Cell> nasbench101_decode(std::int64_t index) {
  LANISTA_CHECK(index >= 0 && index < kNasbench101Encodings, "there is no encoding " + std::to_string(index));
  std::array<Cell::Op, 5> ops{};
  for (auto op = ops.rbegin(); op != ops.rend(); ++op, index /= 3) *op = static_cast<Cell::Op>(index % 3);
  std::array<bool, Cell::kEdgeBits> edges{};
  for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge, index /= 2) *edge = index % 2 == 1;
  return nasbench101_cell(edges, ops);
}

std::int64_t nasbench101_encode(const Cell& cell) {
  // The output becomes vertex 6; the vertices between stay empty.
  Numbering numbers{};
  std::iota(numbers.begin(), numbers.end(), std::uint8_t{0});
  numbers[at(cell.vertices - 1)] = Cell::kMaxVertices - 1;
  std::int64_t index = code_of(renumbered(cell.next, cell.vertices, numbers), Cell::kMaxVertices);
  for (const Cell::Op op : cell.ops) index = index * 3 + op;
  return index;
}

namespace {

std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  // The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA'14) over a running sum.
  std::uint64_t z = seed * 0x9e3779b97f4a7c15 + value + 0x632be59bd9b4e019;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

using Hashes = std::array<std::uint64_t, Cell::kMaxVertices>;

// The combined hash of a set of vertices, independent of their numbers.
std::uint64_t mix_set(std::uint64_t seed, const Hashes& hashes, Bits set) {
  Hashes sorted{};
  auto end = sorted.begin();
  for (; set != 0; set &= static_cast<Bits>(set - 1), ++end) {
    const std::uint64_t hash = hashes[at(std::countr_zero(set))];
    const auto place = std::upper_bound(sorted.begin(), end, hash);
    std::copy_backward(place, end, end + 1);
    *place = hash;
  }
  return std::accumulate(sorted.begin(), end, mix(seed, static_cast<std::uint64_t>(end - sorted.begin())), mix);
}

}  // namespace

std::uint64_t nasbench101_hash(const Cell& cell) {
  const Matrix previous = reversed(cell.next, cell.vertices);
  Hashes hashes{};
  for (int v = 0; v < cell.vertices; ++v) {
    const int label = v == 0 ? 3 : v + 1 == cell.vertices ? 4 : cell.ops[at(v - 1)];
    hashes[at(v)] = mix(mix(static_cast<std::uint64_t>(std::popcount(cell.next[at(v)])),
                            static_cast<std::uint64_t>(std::popcount(previous[at(v)]))),
                        static_cast<std::uint64_t>(label));
  }
  for (int round = 0; round < cell.vertices; ++round) {
    Hashes renewed{};
    for (int v = 0; v < cell.vertices; ++v) {
      renewed[at(v)] = mix_set(mix_set(hashes[at(v)], hashes, previous[at(v)]), hashes, cell.next[at(v)]);
    }
    hashes = renewed;
  }
  return mix_set(0, hashes, static_cast<Bits>((1 << cell.vertices) - 1));
}

namespace {

// Visits the numberings of a graph that keep every edge ascending. Marks their codes, and returns those that change
// nothing (its symmetries).
std::vector<Numbering> symmetries(const Matrix& next, int vertices, std::vector<bool>& seen) {
  std::vector<Numbering> found;
  const std::uint32_t own = code_of(next, vertices);
  Numbering numbers{};
  std::iota(numbers.begin(), numbers.end(), std::uint8_t{0});
  do {
    const Matrix other = renumbered(next, vertices, numbers);
    if (!keeps_order(other, vertices)) continue;
    const std::uint32_t code = code_of(other, vertices);
    seen[code] = true;
    if (code == own) found.push_back(numbers);
  } while (std::next_permutation(numbers.begin() + 1, numbers.begin() + vertices - 1));
  return found;
}

// Whether no symmetry of the graph gives operations that are earlier in the order.
bool is_first(const Cell& cell, const std::vector<Numbering>& symmetries) {
  return std::all_of(symmetries.begin(), symmetries.end(), [&](const Numbering& numbers) {
    auto moved = cell.ops;
    for (int v = 1; v + 1 < cell.vertices; ++v) moved[at(numbers[at(v)] - 1)] = cell.ops[at(v - 1)];
    return cell.ops <= moved;
  });
}

bool next_ops(Cell& cell) {
  for (int v = cell.vertices - 2; v >= 1; --v) {
    auto& op = cell.ops[at(v - 1)];
    op = static_cast<Cell::Op>((op + 1) % 3);
    if (op != 0) return true;
  }
  return false;
}

}  // namespace

std::vector<Cell> nasbench101_cells(int vertices) {
  LANISTA_CHECK(vertices >= 2 && vertices <= Cell::kMaxVertices, "cells have two to seven vertices");
  std::vector<Cell> cells;
  const std::uint32_t codes = 1u << (vertices * (vertices - 1) / 2);
  std::vector<bool> seen(codes);
  for (std::uint32_t code = 0; code < codes; ++code) {
    if (seen[code] || std::popcount(code) > Cell::kMaxEdges) continue;
    Cell cell{vertices, matrix_of(code, vertices), {}};
    if (!is_whole(cell.next, vertices)) continue;
    const auto same = symmetries(cell.next, vertices, seen);
    do {
      if (is_first(cell, same)) cells.push_back(cell);
    } while (next_ops(cell));
  }
  return cells;
}

}  // namespace lanista::mutate::testing
