#pragma once

#include <cstdint>
#include <vector>

#include "lanista/plan/pipeline/series_parallel.h"

namespace lanista::pipeline {

/// Operators in the order of a series-parallel tree, and the tree with small parts combined.
///
/// Every possible stage is an interval of the order.
struct Outline {
  /// A part of the tree.
  struct Node {
    Tree::Shape shape = Tree::Shape::kLeaf;  ///< Its shape.
    std::uint32_t begin = 0;                 ///< First operator in the order.
    std::uint32_t end = 0;                   ///< End of its operators in the order.
    std::vector<std::uint32_t> parts;        ///< Numbers of its parts; for a parallel node those with most work first.
    double received = 0;                     ///< Bytes a sample from outside the node.
    double received_from_outside = 0;        ///< Of these, bytes that the previous part of a series does not give.
    std::uint32_t first_equal = 0;           ///< First node with equal parts, costs and bytes; may be the node itself.
  };
  std::vector<std::uint32_t> order;  ///< Operators in the order of the tree.
  std::vector<Node> nodes;           ///< All parts.
  std::uint32_t root = 0;            ///< Number of the whole model, a series of at least one part.
};

/// Returns the outline of a tree. Parts with at most `grain` seconds of work are not divided.
Outline outline_of(const Tree& tree, const Model& model, double grain);
/// Returns the outline with the same operators and smallest parts as one series.
Outline as_chain(const Outline& outline, const Model& model);

}  // namespace lanista::pipeline
