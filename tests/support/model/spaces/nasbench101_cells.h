#pragma once

#include <cstdint>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/spaces/nasbench101.h"

// All cells of NAS-Bench-101, their encodings and hashes, to compare the product with the published counts.
namespace lanista::mutate::testing {

/// Number of raw encodings: 2^21 sets of edges times 3^5 operations.
constexpr std::int64_t kNasbench101Encodings = 509'607'936;

/// The cell of raw encoding number `index` in [0, kNasbench101Encodings). Errors as in `nasbench101_cell`.
Result<Nasbench101Cell> nasbench101_decode(std::int64_t index);
/// The number in [0, kNasbench101Encodings) of an encoding that nasbench101_decode() turns into this cell.
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

}  // namespace lanista::mutate::testing
