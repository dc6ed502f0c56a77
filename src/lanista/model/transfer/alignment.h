#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lanista/model/transfer/match.h"
#include "lanista/model/transfer/packed_model.h"
#include "lanista/model/transfer/reachability.h"

// Alignment of one child model with many parent models. The data of the child are computed once.
namespace lanista::zoo {

/// The child model of a search for a parent, with data for the alignment. A value; reading is thread-safe.
struct ChildModel {
  Signatures signatures;        ///< signatures of its nodes
  PackedModel model;            ///< the model, with numbers of `signatures`
  std::vector<double> weights;  ///< weight of each node in the score
  std::vector<double> shares;   ///< 1 / number of readers of each node, at least 1 reader
  Reachability reach;           ///< paths between its nodes
  bool unit_weights = false;    ///< MatchOptions::unit_weights

  /// The number of parameter elements of a node.
  std::int64_t signature_params(std::uint32_t node) const { return signatures[model.signatures[node]].params; }

  /// Prepares a child model.
  ChildModel(const MatchModel& child, const MatchOptions& options);

 private:
  ChildModel(const MatchModel& child, const MatchOptions& options, Signatures table);
};

/// Pairs of node indices {parent, child}, in order of the child's.
using NodePairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// Computes the alignment of match() by dynamic programming. It keeps its memory between parents.
class Alignment {
 public:
  /// Aligns `child` with models over the signatures `parents`. The arguments must live as long as the alignment.
  Alignment(const ChildModel& child, const Signatures& parents, const PairTable& table)
      : child_(child), parents_(parents), table_(table) {}

  /// Fills the table of scores for a parent and returns the score. The parent must live until pairs() is called.
  double run(const PackedModel& parent);
  /// The pairs of the best alignment with the last parent. Paired nodes have one kind, and each node is in one pair.
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

/// Improves pairs by local search.
///
/// A node gets a new partner if that gains more common elements than the displaced pairs lose. Displaced are the old
/// pairs of both nodes and pairs that would contradict the order. This repeats while something is gained. Then nodes
/// without parameters are paired if their inputs are. Pairs keep the order of paths: if one node of the child is on a
/// path to another, no path leads the other way between their partners.
NodePairs improved(NodePairs pairs, const PackedModel& parent, const ChildModel& child, const PairTable& table);

/// The number of parameter elements that paired nodes have in common.
std::int64_t overlap_of(const NodePairs& pairs, const PackedModel& parent, const ChildModel& child,
                        const PairTable& table);

/// Pairs the nodes of two models with one graph hash that compute the same value, with their inputs paired.
///
/// Empty if alike branches make the pairs ambiguous. O(nodes log nodes).
NodePairs identical_pairs(const PackedModel& parent, const PackedModel& child);

/// Makes a match from pairs and the score of the alignment.
Match match_of(const NodePairs& pairs, double score, const PackedModel& parent, const ChildModel& child,
               const PairTable& table);

}  // namespace lanista::zoo
