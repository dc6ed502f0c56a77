#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/lineage.h"
#include "lanista/model/graph/op.h"

// Which model of many has the most to give to a new one (ModelKeeper, NSDI'23; the recurrence is not the published one,
// which counts what stands above a join twice).
namespace lanista::zoo {

/// A model as the matcher reads it: nodes in dependency order, each with what is compared. A value.
struct MatchModel {
  struct Node {
    graph::NodeId id;
    std::string kind;  ///< operator, and what of its attributes must agree for weights to mean the same
    std::vector<std::vector<std::int64_t>> shapes;  ///< of its parameters and buffers
    std::int64_t params = 0;                        ///< elements of those
    std::vector<std::size_t> inputs;                ///< places of nodes, as often as they are read
    std::int64_t readers = 0;                       ///< edges out of it
    double depth = 0;                               ///< of the longest path to it, over that of the output; in [0, 1]
    std::uint64_t computes = 0;                     ///< half of its structural hash: equal where the same is computed
  };
  std::vector<Node> nodes;
  std::int64_t params = 0;
  Digest hash;  ///< graph::canonical_hash

  /// Errors: verify's.
  static Result<MatchModel> of(const graph::Graph& graph, const graph::OpTable& ops);
};

struct MatchOptions {
  bool unit_weights = false;  ///< every node counts 1; else by its share of the parameters, and 0.05 without any
  double lambda = 0.5;        ///< early layers count more: by 1 + lambda (1 - depth); not of unit weights
};

/// How two models go together.
struct Match {
  double score = 0;                    ///< of the recurrence; at most the child's weight
  std::vector<graph::NodePair> pairs;  ///< {parent's node, child's node}, each node once; in order of the child's
  std::int64_t overlap = 0;            ///< elements of parameters that the pairs have in common
  double coverage = 0;                 ///< of the child's parameters; in [0, 1], as the next two
  double retention = 0;                ///< of the parent's
  double sim = 0;                      ///< harmonic mean of both: 1 for the same model
  double start_benefit = 0;                   ///< what a search looks for: `benefit_of` of them
};

/// What a start brings, in [0, 1]: the harmonic mean of coverage and retention in which coverage counts nine times as
/// much. What the parent has more costs the child little, unless it is far larger. 0 of models without parameters.
double benefit_of(std::int64_t overlap, std::int64_t child_params, std::int64_t parent_params);

/// What a node of the child counts.
std::vector<double> node_weights(const MatchModel& child, const MatchOptions& options);

/// Elements that two nodes have in common: products of the smaller dimensions. 0 if they are of different kinds.
std::int64_t node_overlap(const MatchModel::Node& parent, const MatchModel::Node& child);

/// What a pair counts, in [-1, 1]: the share of weights that can move; -1 where that is 0.3 or less.
double pair_score(const MatchModel::Node& parent, const MatchModel::Node& child);

/// Alignment of DAGs in dependency order. A child's value is divided among those who read it, so a join adds up what a
/// fork split, and every node counts once. At joins branches are assigned optimally (up to 10 inputs of the parent's
/// node, beyond that first come). Its pairs are then improved by what they have in common, as long as single changes
/// help; pairs keep the order of paths. Of two models of one hash, nodes that compute the same are paired.
/// O(parent's nodes x child's nodes x inputs), and some passes over the pairs of one kind.
Match match(const MatchModel& parent, const MatchModel& child, const MatchOptions& options = {});

/// Never less than match(...).sim: each node of either model at its best. O(signatures of one kind, squared).
double similarity_upper_bound(const MatchModel& parent, const MatchModel& child);

}  // namespace lanista::zoo
