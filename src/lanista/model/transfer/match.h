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

/// A model in the form that the matcher compares: an array of nodes in dependency order. A value.
struct MatchModel {
  /// One node with the properties that are compared.
  struct Node {
    graph::NodeId id;                               ///< Id in the graph.
    std::string kind;                               ///< Operator with the attributes that decide the use of weights.
    std::vector<std::vector<std::int64_t>> shapes;  ///< Shapes of parameters and buffers, in order.
    std::int64_t params = 0;                        ///< Number of elements of parameters and buffers.
    std::vector<std::size_t> inputs;                ///< For each input, index of the node that it reads.
    std::int64_t readers = 0;                       ///< Number of inputs that read this node.
    double depth = 0;            ///< Longest path to this node / longest path of the model, in [0, 1].
    std::uint64_t computes = 0;  ///< Half of the Merkle hash: equal for nodes that compute the same.
  };
  std::vector<Node> nodes;  ///< in dependency order
  std::int64_t params = 0;  ///< number of elements of all parameters and buffers
  Digest hash;              ///< graph hash

  /// Converts a graph. Errors: as in `graph::verify` (kNotFound, kInvalidArgument).
  static Result<MatchModel> of(const graph::Graph& graph, const graph::OpTable& ops);
};

/// How much each node of the child counts in the score of a match.
struct MatchOptions {
  bool unit_weights = false;  ///< True: every node has weight 1. False: see node_weights().
  double lambda = 0.5;        ///< Early layers weigh more, by 1 + lambda (1 - depth). Not with unit weights.
};

/// The match of a child model with a parent model: paired nodes and measures of how much they have in common.
struct Match {
  double score = 0;                    ///< Score of the alignment, at most the sum of node_weights().
  std::vector<graph::NodePair> pairs;  ///< Ids {parent node, child node}, in dependency order of the child.
  std::int64_t overlap = 0;            ///< Number of parameter elements that the pairs have in common.
  double coverage = 0;   ///< overlap / parameters of the child, in [0, 1]; 0 without parameters, 1 for equal models.
  double retention = 0;  ///< overlap / parameters of the parent, in [0, 1]; 0 without parameters, 1 for equal models.
  double sim = 0;        ///< Harmonic mean of coverage and retention; 1 for equal models.
  double start_benefit = 0;  ///< benefit_of(), by which a search ranks parents; 1 for equal models.
};

/// The benefit of a parent for a warm start, in [0, 1]: the harmonic mean of coverage and retention, where coverage has
/// nine times the weight. Arguments are numbers of parameter elements. It is 0 if both models have no parameters.
double benefit_of(std::int64_t overlap, std::int64_t child_params, std::int64_t parent_params);

/// The weight of each node of a child in the score, by node index. With unit weights it is 1.
///
/// Without unit weights it is the share of the node in the child's parameters, times the number of nodes with
/// parameters; 0.05 for a node without parameters. Both are multiplied by 1 + lambda (1 - depth).
std::vector<double> node_weights(const MatchModel& child, const MatchOptions& options);

/// Matches a child with a parent: pairs nodes by an alignment of both graphs in dependency order. The result has the
/// pairs, their score, and how many parameter elements they have in common, also as shares of both models.
///
/// The score of a child's node is divided among its readers, so a join adds what a fork divides, and every node counts
/// once. At a join the branches are assigned optimally for up to 10 inputs of the parent's node, and greedily beyond.
/// Then local search improves the pairs; they keep the order of paths. If both graph hashes are equal, nodes that
/// compute the same are paired instead, unless alike branches make that ambiguous. O(nodes of the parent x nodes of the
/// child x inputs), plus passes over the pairs of one kind.
Match match(const MatchModel& parent, const MatchModel& child, const MatchOptions& options = {});

}  // namespace lanista::zoo
