#pragma once

#include <cstdint>
#include <vector>

#include "lanista/plan/pipeline/model.h"

namespace lanista::pipeline {

/// A series-parallel decomposition of a model.
///
/// The parts of a series run one after another. The parts of a parallel node are independent. Both kinds alternate, and
/// have at least two parts.
struct Tree {
  /// The kind of a node.
  enum class Shape {
    kLeaf,     ///< One operator.
    kSeries,   ///< Parts that run one after another.
    kParallel  ///< Independent parts.
  };
  /// A part of the model.
  struct Node {
    Shape shape = Shape::kLeaf;        ///< Kind of the node.
    std::uint32_t op = 0;              ///< Number of the operator, for a leaf.
    std::vector<std::uint32_t> parts;  ///< Indices of its parts in `nodes`, smaller than its own index.
  };
  std::vector<Node> nodes;  ///< All parts.
  std::uint32_t root = 0;   ///< Index in `nodes` of the whole model.
  double loss = 1;          ///< Longest path of the tree over that of the model, for a batch; 1 if series-parallel.
  std::size_t added = 0;    ///< Number of regions that are not series-parallel.
};

/// Returns the series-parallel tree of a model that passed check().
///
/// Operators are the edges of a graph with two terminals, so each cut of it is convex. Operators that read the same
/// operators share a vertex. A region that cannot be reduced is divided by depth into a series of strata, the smallest
/// such region first. That adds dependencies and removes none. About O(n log n) for a series-parallel model.
Tree decompose(const Model& model);

/// Returns the seconds of forward and backward pass over a batch on the longest path of a model, at speed 1. Transfers
/// do not count.
double critical_path(const Model& model);
/// Returns the seconds of forward and backward pass over a batch on the longest path of a tree, at speed 1: the sum
/// over the parts of a series, the maximum over parallel parts. Transfers do not count.
double critical_path(const Tree& tree, const Model& model);

}  // namespace lanista::pipeline
