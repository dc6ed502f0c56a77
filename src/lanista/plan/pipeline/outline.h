#pragma once

#include <cstdint>
#include <vector>

#include "lanista/plan/pipeline/series_parallel.h"

namespace lanista::pipeline {

/// Operators in a row, in the order of a tree, so that whatever may be a stage is an interval of it; and the tree, with
/// parts so small that cutting them would gain nothing drawn together.
struct Outline {
  struct Node {
    Tree::Shape shape = Tree::Shape::kLeaf;
    std::uint32_t begin = 0, end = 0;  ///< its operators
    std::vector<std::uint32_t> parts;  ///< of a parallel node the ones with most work first
    double received = 0;               ///< bytes a sample from outside
    double received_from_outside = 0;  ///< of these, what the part before it in a series does not give
    std::uint32_t first_equal = 0;     ///< the first node with the same parts, costs and bytes; itself if there is none
  };
  std::vector<std::uint32_t> order;
  std::vector<Node> nodes;
  std::uint32_t root = 0;  ///< a series, if only of one part
};

/// `grain`: the most work of a part that is not cut.
Outline outline_of(const Tree& tree, const Model& model, double grain);
/// The same operators and smallest parts as one series.
Outline as_chain(const Outline& outline, const Model& model);

}  // namespace lanista::pipeline
