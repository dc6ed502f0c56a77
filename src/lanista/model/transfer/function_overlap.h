#pragma once

#include <cstdint>
#include <vector>

#include "lanista/model/transfer/alignment.h"

// How much of what a parent computes its child would compute. Walk back from an end of the child (a node that nobody
// reads), at every node to one of its inputs, each as likely as any other: the function is kept as far as the walk
// stays among pairs. A guess of how far training can go on where the parent stopped, and no proof of anything; that is
// TransferPlan::exact_nodes.
namespace lanista::zoo {

/// In [0, 1]; 1 of a model with itself. A node that has no partner keeps nothing, an input all; any other the mean of
/// what its inputs keep (one that the partner does not read, or that only the partner reads, counts 0), times the share
/// of its own parameters that come along. The mean of this over the ends. O(edges x inputs).
double function_overlap(const NodePairs& pairs, const PackedModel& parent, const ChildModel& child, const PairTable& table);

/// What function_overlap is never above, whatever the pairs are. Of a kind of which the parent has fewer nodes some of the
/// child's have no partner, at best those that a walk back meets least; and a node gets no more of its parameters than
/// the parent's best node of its kind has in common with it.
class FunctionOverlapBound {
 public:
  FunctionOverlapBound(const ChildModel& child, const Signatures& parents, const PairTable& table);
  /// O(nodes of the parent + kinds + pairs of signatures of one kind).
  double of(const PackedModel& parent) const;

 private:
  struct Kind {
    std::uint32_t number;       ///< among those of the parents; Signatures::kNone: of none
    std::vector<double> visit_probability;  ///< for each of the child's nodes the share of walks that meet it; ascending
  };
  struct ParamSignature {
    std::uint32_t signature, kind;
    double visit_probability, params;  ///< the most of its nodes; elements
  };
  const PairTable& table_;
  std::vector<Kind> kinds_;
  std::vector<ParamSignature> param_signatures_;
  std::size_t parent_kinds_ = 0;
};

}  // namespace lanista::zoo
