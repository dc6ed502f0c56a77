#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lanista::pipeline {

/// A set of operators, with one bit for each.
using OperatorSet = std::vector<std::uint64_t>;

/// Returns true if the set has the operator.
inline bool has(const OperatorSet& set, std::uint32_t op) { return (set[op / 64] >> (op % 64) & 1) != 0; }
/// Adds an operator to the set.
inline void add(OperatorSet& set, std::uint32_t op) { set[op / 64] |= std::uint64_t{1} << (op % 64); }
/// Returns true if `small` is a subset of `large`.
bool contains(const OperatorSet& large, const OperatorSet& small);

/// Returns all sets that contain the `needed` operators of each member, the empty one first and smaller ones before
/// larger.
///
/// With predecessors as `needed`, these are the prefixes of a model, one for each antichain. With successors they are
/// Piper's downsets. Empty if there are more than `most`. O(sets (operators + edges)).
std::vector<OperatorSet> closed_sets(const std::vector<std::vector<std::uint32_t>>& needed, std::size_t most);

}  // namespace lanista::pipeline
