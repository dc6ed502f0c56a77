#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lanista/model/transfer/match.h"
#include "lanista/model/transfer/packed_model.h"
#include "lanista/model/transfer/reachability.h"

// Alignment of one child model with many parent models. The data of the child are computed once.
namespace lanista::zoo {

/// The child model of a search for a parent, with data for the alignment. A value; const functions are thread-safe.
struct ChildModel {
  Signatures signatures;        ///< signatures of the child
  PackedModel model;            ///< model over `signatures`
  std::vector<double> weights;  ///< node_weights() of the child
  std::vector<double> shares;   ///< for each node: 1 / max(1, number of inputs that read it)
  Reachability reach;           ///< which nodes of the child are connected by paths
  bool unit_weights = false;    ///< MatchOptions::unit_weights

  /// The number of elements of the parameters and buffers of the node with this index in the child's graph.
  std::int64_t signature_params(std::uint32_t node) const { return signatures[model.signatures[node]].params; }

  /// Prepares a child model for alignments with any number of parents.
  ChildModel(const MatchModel& child, const MatchOptions& options);

 private:
  ChildModel(const MatchModel& child, const MatchOptions& options, Signatures table);
};

/// Pairs of node indices {parent, child}, ascending by the index in the child. Indices count in dependency order.
using NodePairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// Computes the alignment of match() by dynamic programming. It keeps its memory between parents. Not thread-safe.
class Alignment {
 public:
  /// Aligns `child` with models that have signature numbers of `parents`. `table` compares both. The arguments must
  /// live as long as the alignment.
  Alignment(const ChildModel& child, const Signatures& parents, const PairTable& table)
      : child_(child), parents_(parents), table_(table) {}

  /// Aligns the child with a parent and returns the score (Match::score). The parent must live until pairs() is called.
  double run(const PackedModel& parent);
  /// The pairs of the best alignment with the last parent of run(). Both nodes of a pair have the same kind, and each
  /// node is in at most one pair.
  NodePairs pairs() const;

 private:
  void fill_row(std::size_t i);
  double at(std::size_t i, std::size_t j) const { return scores_[i * columns_ + j]; }
  double flow(std::size_t i, std::size_t c) const { return flows_[i * columns_ + c]; }
  std::size_t best_parent(std::size_t i, std::size_t j) const;
  double assigned(std::size_t i, std::size_t j) const;
  std::vector<std::size_t> assignment(std::size_t i, std::size_t j) const;
  double assign(std::span<const std::uint32_t> to, std::span<const std::uint32_t> from,
                std::vector<std::size_t>* choice) const;

  const ChildModel& child_;
  const Signatures& parents_;
  const PairTable& table_;
  const PackedModel* parent_ = nullptr;
  std::size_t columns_ = 0;
  std::vector<double> scores_, flows_;  // flows: what goes from a cell to one reader of the child's node
  std::vector<std::uint8_t> moves_;
};

/// Improves pairs by local search, and returns the improved pairs.
///
/// A node gets a new partner if that gains more common elements than the displaced pairs lose. Displaced are the old
/// pairs of both nodes and pairs that would contradict the order. This repeats while something is gained, for a fixed
/// number of passes at most. Then nodes without parameters are paired if their inputs are. Pairs keep the order of
/// paths: if a path leads from one node of the child to another, no path leads the other way between their partners.
NodePairs improved(NodePairs pairs, const PackedModel& parent, const ChildModel& child, const PairTable& table);

/// The number of elements of parameters and buffers that paired nodes have in common, summed over the pairs.
std::int64_t overlap_of(const NodePairs& pairs, const PackedModel& parent, const ChildModel& child,
                        const PairTable& table);

/// Pairs the nodes of two models with equal graph hashes that compute the same value. Their inputs are paired too.
///
/// Every node of the child gets a partner, or the result is empty, because alike branches made the pairs ambiguous or
/// the models differ. O(nodes log nodes).
NodePairs identical_pairs(const PackedModel& parent, const PackedModel& child);

/// Makes a match from pairs of node indices and the score of the alignment.
Match match_of(const NodePairs& pairs, double score, const PackedModel& parent, const ChildModel& child,
               const PairTable& table);

}  // namespace lanista::zoo
