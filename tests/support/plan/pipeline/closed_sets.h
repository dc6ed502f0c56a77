#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lanista::pipeline {

/// A set of operators, a bit each.
using OperatorSet = std::vector<std::uint64_t>;

inline bool has(const OperatorSet& set, std::uint32_t op) { return (set[op / 64] >> (op % 64) & 1) != 0; }
inline void add(OperatorSet& set, std::uint32_t op) { set[op / 64] |= std::uint64_t{1} << (op % 64); }
bool contains(const OperatorSet& large, const OperatorSet& small);

/// All sets in which every operator's `needed` ones are too, the empty one first and smaller ones before larger ones.
/// With predecessors as `needed` these are the prefixes of a model, one for each antichain (its last operators); with
/// successors Piper's downsets. Empty if there are more than `most`. O(sets (operators + edges)).
std::vector<OperatorSet> closed_sets(const std::vector<std::vector<std::uint32_t>>& needed, std::size_t most);

}  // namespace lanista::pipeline
