#pragma once

#include <cstdint>
#include <vector>

#include "lanista/plan/pipeline/model.h"

namespace lanista::pipeline {

/// A series-parallel decomposition: leaves are operators; parts of a series run one after the other, parts of a
/// parallel node depend on each other in nothing. Series and parallel nodes alternate and have two parts at least.
struct Tree {
  enum class Shape { kLeaf, kSeries, kParallel };
  struct Node {
    Shape shape = Shape::kLeaf;
    std::uint32_t op = 0;              ///< of a leaf
    std::vector<std::uint32_t> parts;  ///< of others, by number; every part's number is smaller than the node's
  };
  std::vector<Node> nodes;
  std::uint32_t root = 0;
  /// Critical path of the tree over that of the model, by the work of a whole batch: 1 where the model is
  /// series-parallel, more where dependencies had to be added.
  double loss = 1;
  std::size_t added = 0;  ///< regions that were no series-parallel graph
};

/// Decomposes the two-terminal graph in which operators are edges (graphpipe.md 3.3), so whatever is cut from it is
/// convex. Operators that all read the same operators meet in one vertex. A region that cannot be reduced further is
/// put into strata: its parts by their depth, one stratum after the other, the smallest such region first; that adds
/// dependencies and takes none away. The model must be checked. About O(n log n) where the model is series-parallel.
Tree decompose(const Model& model);

/// Work of a batch on the longest path, of the model and of a tree over it.
double critical_path(const Model& model);
double critical_path(const Tree& tree, const Model& model);

/// Operators below a node, in an order that respects dependencies.
std::vector<std::uint32_t> operators_below(const Tree& tree, std::uint32_t node);

}  // namespace lanista::pipeline
