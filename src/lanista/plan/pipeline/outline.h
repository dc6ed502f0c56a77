#pragma once

#include <cstdint>
#include <vector>

#include "lanista/plan/pipeline/series_parallel.h"

namespace lanista::pipeline {

/// Operators in the order of a series-parallel tree, and the tree with small parts combined.
///
/// Every possible stage is an interval of the order.
struct Outline {
  /// A part of the tree: a single interval of operators, or a series or a parallel set of smaller parts.
  struct Node {
    Tree::Shape shape = Tree::Shape::kLeaf;  ///< Kind of the part.
    std::uint32_t begin = 0;                 ///< Index in `order` of its first operator.
    std::uint32_t end = 0;                   ///< Index in `order` after its last operator.
    std::vector<std::uint32_t> parts;        ///< Indices of smaller parts in `nodes`; most work first if parallel.
    double received = 0;                     ///< Bytes a sample that its operators read from operators before it.
    double received_from_outside = 0;        ///< Of `received`, bytes from before the previous part of its series.
    std::uint32_t first_equal = 0;           ///< Index of the first node with equal parts, costs and bytes, or its own.
  };
  std::vector<std::uint32_t> order;  ///< Numbers of operators, in the order of the tree.
  std::vector<Node> nodes;           ///< All parts of the tree.
  std::uint32_t root = 0;            ///< Index in `nodes` of the whole model, a series of at least one part.
};

/// Returns the outline of a tree. Parts with at most `grain` seconds of work for a batch are not divided further.
/// Neighbouring undivided parts with at most `grain` together are combined.
Outline outline_of(const Tree& tree, const Model& model, double grain);
/// Returns the outline with the same operators, in which the smallest parts form one series.
Outline as_chain(const Outline& outline, const Model& model);

}  // namespace lanista::pipeline
