#pragma once

#include <cstdint>
#include <vector>

#include "lanista/model/transfer/alignment.h"

// An estimate of how much of the parent's function the child keeps. A random walk starts at an end of the child (a node
// that no node reads) and moves to a random input of each node. The function is kept as far as all nodes of the walk
// are paired. The estimate guides the choice of a parent. TransferPlan::exact_nodes has the nodes that are exact.
namespace lanista::zoo {

/// The function overlap of a match: an estimate in [0, 1] of the share of the parent's function that the child keeps. A
/// model with itself has 1.
///
/// A node without partner keeps 0, and a node without inputs that has a partner keeps 1. Any other node keeps the mean
/// over its inputs, times the share of its parameters that the partner has too. An input that only one node of the pair
/// reads counts 0. `table` compares the signatures of both models.
/// The result is the mean over the ends, which are the nodes that no node reads. O(edges x inputs of a node).
double function_overlap(const NodePairs& pairs, const PackedModel& parent, const ChildModel& child,
                        const PairTable& table);

/// An upper bound of function_overlap() over all possible pairs of a child with a parent. Thread-safe after
/// construction.
///
/// If the parent has fewer nodes of a kind, some nodes of the child have no partner; at best those that the walk visits
/// with the smallest probability. And a node keeps at most the share of its parameters that the best node of its kind
/// has in common with it.
class FunctionOverlapBound {
 public:
  /// Prepares the bound for one child. `parents` has the signatures of all parents. `table` must live as long as the
  /// bound.
  FunctionOverlapBound(const ChildModel& child, const Signatures& parents, const PairTable& table);
  /// The bound for one parent, in [0, 1]. O(nodes of the parent + kinds + pairs of signatures of one kind).
  double of(const PackedModel& parent) const;

 private:
  struct Kind {
    std::uint32_t number;                   ///< number among the kinds of the parents, or Signatures::kNone
    std::vector<double> visit_probability;  ///< share of walks that visit each node of the child, ascending
  };
  struct ParamSignature {
    std::uint32_t signature, kind;  ///< numbers
    double visit_probability;       ///< largest of its nodes
    double params;                  ///< elements
  };
  const PairTable& table_;
  std::vector<Kind> kinds_;
  std::vector<ParamSignature> param_signatures_;
  std::size_t parent_kinds_ = 0;
};

}  // namespace lanista::zoo
