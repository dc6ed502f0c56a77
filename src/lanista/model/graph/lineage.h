#pragma once

#include <vector>

#include "lanista/base/digest.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"

// Common parts of two models: by ids for related models, by hashes for others.
namespace lanista::graph {

/// Returns the ids of the nodes that two related models share, ascending by id.
///
/// A shared node has the same id and the same operation in both models, and reads the same outputs of shared nodes. So
/// the shared nodes are the longest common prefix, and both models compute the same values there. Labels do not count.
/// The models must come from one graph by edits; the function does not check that. O(nodes + edges). A cycle is a bug
/// of the caller. Source: Retiarii (OSDI'20).
std::vector<NodeId> lineage_match(const Graph& a, const Graph& b, const OpTable& ops);

/// A node of a first and a node of a second model that correspond to each other.
struct NodePair {
  NodeId a;  ///< id in the first model
  NodeId b;  ///< id in the second model
  auto operator<=>(const NodePair&) const = default;
};

/// Pairs the nodes of two models that compute the same value for the same input. The models need not be related.
///
/// Paired nodes have the same operation, and their inputs are paired with each other, in any order if the operator is
/// commutative. A node is in at most one pair. The result is in dependency order of `a`. Where several nodes compute
/// the same, the first ones are paired, so pairs may be missing there. No pair is wrong. O((nodes + edges) log nodes).
/// A cycle is a bug of the caller.
std::vector<NodePair> structural_match(const Graph& a, const Graph& b, const OpTable& ops);

/// A node and its Merkle hash.
struct NodeHash {
  NodeId id;    ///< the node
  Digest hash;  ///< hash of the operation of `id` and of all nodes on which `id` depends
  bool operator==(const NodeHash&) const = default;
};

/// Returns the Merkle hash of every node of a graph, in dependency order of the nodes. A cycle is a bug of the caller.
///
/// Nodes of any two models have equal hashes if they apply the same operations to the same inputs. Ids, labels,
/// attributes that are set to their defaults and the order of commutative inputs do not count.
std::vector<NodeHash> structural_hashes(const Graph& graph, const OpTable& ops);

}  // namespace lanista::graph
