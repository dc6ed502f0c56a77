#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lanista/model/transfer/match.h"
#include "lanista/model/transfer/packed_model.h"
#include "lanista/model/transfer/reachability.h"

// One child against many parents: what does not depend on the parent is made once.
namespace lanista::zoo {

/// The child's side of a search. A value; reading is thread-safe.
struct ChildModel {
  Signatures signatures;
  PackedModel model;            ///< over `signatures`
  std::vector<double> weights;  ///< what a node counts
  std::vector<double> shares;   ///< what goes to one of a node's readers: 1 / readers
  Reachability reach;
  bool unit_weights = false;

  std::int64_t signature_params(std::uint32_t node) const { return signatures[model.signatures[node]].params; }

  ChildModel(const MatchModel& child, const MatchOptions& options);

 private:
  ChildModel(const MatchModel& child, const MatchOptions& options, Signatures table);
};

/// {parent's place, child's place}, in order of the child's.
using NodePairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// The alignment of match(): its score and, after the traceback, its pairs. Keeps its memory from parent to parent.
class Alignment {
 public:
  Alignment(const ChildModel& child, const Signatures& parents, const PairTable& table)
      : child_(child), parents_(parents), table_(table) {}

  /// Fills the table of the recurrence; gives the child's score. The parent is read by pairs() too.
  double run(const PackedModel& parent);
  /// Of the last parent: the pairs on the best way through, each node once, of one kind.
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

/// Pairs that are worth more: each unpaired node, or one with a better partner, in turn takes its partner, where what
/// it displaces (that partner's old one, and pairs whose order it would turn round) is worth less. Repeats while
/// something is gained. Then nodes without parameters are paired whose inputs are. Pairs keep the order of paths: of
/// two of the child's nodes on a path, the partners are not on a path the other way.
NodePairs improved(NodePairs pairs, const PackedModel& parent, const ChildModel& child, const PairTable& table);

/// Elements that the pairs have in common.
std::int64_t overlap_of(const NodePairs& pairs, const PackedModel& parent, const ChildModel& child,
                        const PairTable& table);

/// Of two models of one canonical hash: pairs of nodes that compute the same, inputs paired with each other. Empty
/// where alike branches leave it open which goes with which. O(nodes log nodes).
NodePairs identical_pairs(const PackedModel& parent, const PackedModel& child);

/// The match that such pairs are.
Match match_of(const NodePairs& pairs, double score, const PackedModel& parent, const ChildModel& child,
               const PairTable& table);

}  // namespace lanista::zoo
