#include "lanista/model/spaces/nasbench101.h"

#include <bit>
#include <numeric>
#include <string>

namespace lanista::mutate {

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

// Returns the vertices on a path from the first to the last. In this order one sweep each way finds every path.
Bits live_vertices(const Matrix& next, int vertices) {
  Bits from_input = only(0);
  for (int i = 0; i < vertices; ++i) {
    if (has(from_input, i)) from_input |= next[at(i)];
  }
  Bits to_output = only(vertices - 1);
  for (int i = vertices - 1; i >= 0; --i) {
    if ((next[at(i)] & to_output) != 0) to_output |= only(i);
  }
  return from_input & to_output;
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

int edges_of(const Matrix& next) {
  return std::accumulate(next.begin(), next.end(), 0, [](int sum, Bits row) { return sum + std::popcount(row); });
}

}  // namespace

int Cell::edges() const { return edges_of(next); }

Result<Cell> nasbench101_cell(std::span<const bool, Cell::kEdgeBits> edges, std::span<const Cell::Op, 5> ops) {
  std::uint32_t code = 0;
  for (const bool edge : edges) code = code << 1 | std::uint32_t{edge};
  const Matrix raw = matrix_of(code, Cell::kMaxVertices);
  const Bits live = live_vertices(raw, Cell::kMaxVertices);
  const auto invalid = [](const std::string& why) {
    return Error{Code::kNotApplicable, "NAS-Bench-101 cell: " + why, ""};
  };
  if (!has(live, 0)) return invalid("no way leads from input to output");

  Cell cell;
  cell.vertices = std::popcount(live);
  Numbering numbers{};
  for (int v = 0, number = 0; v < Cell::kMaxVertices; ++v) {
    if (!has(live, v)) continue;
    numbers[at(v)] = static_cast<std::uint8_t>(number);
    if (v > 0 && v + 1 < Cell::kMaxVertices) cell.ops[at(number - 1)] = ops[at(v - 1)];
    ++number;
  }
  Matrix alive{};
  for (int v = 0; v < Cell::kMaxVertices; ++v) alive[at(v)] = has(live, v) ? raw[at(v)] & live : Bits{0};
  cell.next = renumbered(alive, Cell::kMaxVertices, numbers);
  if (cell.edges() > Cell::kMaxEdges) {
    return invalid(std::to_string(cell.edges()) + " edges, at most " + std::to_string(Cell::kMaxEdges) +
                   " are allowed");
  }
  return cell;
}

}  // namespace lanista::mutate
