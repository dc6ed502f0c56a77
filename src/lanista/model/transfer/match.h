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

// Matches a new model with trained models, to find the best parent for a warm start (ModelKeeper, NSDI'23). The
// recurrence differs from the published one, which counts the nodes before a join twice.
namespace lanista::zoo {

/// A model in the form that the matcher compares: nodes in dependency order. A value.
struct MatchModel {
  /// One node with its compared properties.
  struct Node {
    graph::NodeId id;                               ///< Node of the graph.
    std::string kind;                               ///< Operator with the attributes that decide the use of weights.
    std::vector<std::vector<std::int64_t>> shapes;  ///< Shapes of its parameters and buffers.
    std::int64_t params = 0;                        ///< Elements of its parameters and buffers.
    std::vector<std::size_t> inputs;                ///< Indices of its sources, one for each input.
    std::int64_t readers = 0;                       ///< Number of inputs that read it.
    double depth = 0;            ///< Length of the longest path to it, divided by that to the deepest node.
    std::uint64_t computes = 0;  ///< Half of its structural hash: equal for nodes that compute the same.
  };
  std::vector<Node> nodes;  ///< in dependency order
  std::int64_t params = 0;  ///< elements of all parameters and buffers
  Digest hash;              ///< graph hash

  /// Converts a graph. Errors: those of `graph::verify`.
  static Result<MatchModel> of(const graph::Graph& graph, const graph::OpTable& ops);
};

/// Weights of nodes in the score of a match.
struct MatchOptions {
  bool unit_weights = false;  ///< Every node has weight 1. Otherwise its share of the parameters, or 0.05 without any.
  double lambda = 0.5;        ///< Early layers weigh more, by 1 + lambda (1 - depth). Not with unit weights.
};

/// The match of a child model with a parent model.
struct Match {
  double score = 0;                    ///< Score of the alignment, at most the sum of the child's weights.
  std::vector<graph::NodePair> pairs;  ///< Pairs {parent node, child node}, in order of the child's.
  std::int64_t overlap = 0;            ///< Parameter elements that the pairs have in common.
  double coverage = 0;                 ///< Share of the child's parameters in the overlap, in [0, 1].
  double retention = 0;                ///< Share of the parent's parameters in the overlap, in [0, 1].
  double sim = 0;                      ///< Harmonic mean of both. The same model has 1.
  double start_benefit = 0;            ///< Result of benefit_of(), by which a search ranks parents.
};

/// The benefit of a parent for a warm start, in [0, 1]: the harmonic mean of coverage and retention, with nine times
/// the weight on coverage. It is 0 for models without parameters.
double benefit_of(std::int64_t overlap, std::int64_t child_params, std::int64_t parent_params);

/// The weight of each node of a child in the score.
std::vector<double> node_weights(const MatchModel& child, const MatchOptions& options);

/// The number of parameter elements that two nodes have in common. For each tensor it is the product of the smaller
/// dimensions. It is 0 for nodes of different kinds.
std::int64_t node_overlap(const MatchModel::Node& parent, const MatchModel::Node& child);

/// The score of a pair, in [-1, 1]: the share of weights that can be transferred, or -1 if that is 0.3 or less.
double pair_score(const MatchModel::Node& parent, const MatchModel::Node& child);

/// Matches a child with a parent by an alignment of their graphs in dependency order.
///
/// The score of a child's node is divided among its readers, so a join adds what a fork divides, and every node counts
/// once. At a join the branches are assigned optimally for up to 10 inputs of the parent's node, and greedily beyond.
/// Then local search improves the pairs; they keep the order of paths. If both graph hashes are equal, nodes that
/// compute the same are paired instead. O(nodes of the parent x nodes of the child x inputs), plus passes over the
/// pairs of one kind.
Match match(const MatchModel& parent, const MatchModel& child, const MatchOptions& options = {});

/// An upper bound of match(...).sim. O(signatures of one kind, squared).
double similarity_upper_bound(const MatchModel& parent, const MatchModel& child);

}  // namespace lanista::zoo
