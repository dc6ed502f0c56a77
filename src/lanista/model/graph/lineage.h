#pragma once

#include <vector>

#include "lanista/base/digest.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"

// Common parts of two models: by ids for related models, by hashes for others.
namespace lanista::graph {

/// Returns the nodes that two related models share, in order of id.
///
/// A shared node has the same id and the same operation in both models, and reads the same outputs of shared nodes. So
/// the result is the longest common prefix, and both models compute the same values there. Labels do not count. The
/// models must have a common ancestor; the function does not check that. O(nodes + edges). A cycle is a bug.
/// Source: Retiarii (OSDI'20).
std::vector<NodeId> lineage_match(const Graph& a, const Graph& b, const OpTable& ops);

/// Two nodes of two models that compute the same value.
struct NodePair {
  NodeId a;  ///< node of the first model
  NodeId b;  ///< node of the second model
  auto operator<=>(const NodePair&) const = default;
};

/// Pairs the nodes of two models, which need not be related, that compute the same values.
///
/// Paired nodes have the same operation, and their inputs are paired with each other, in any order if the operator is
/// commutative. A node is in at most one pair. The result is in dependency order of `a`. Among alike nodes the first
/// are paired, so pairs may be missing where many branches are alike. No pair is wrong. O((nodes + edges) log nodes).
/// A cycle is a bug of the caller.
std::vector<NodePair> structural_match(const Graph& a, const Graph& b, const OpTable& ops);

/// A node and its Merkle hash.
struct NodeHash {
  NodeId id;    ///< the node
  Digest hash;  ///< hash of its operation and of all nodes before it
  bool operator==(const NodeHash&) const = default;
};

/// Returns the Merkle hash of every node, in dependency order.
///
/// Nodes of any models have equal hashes if they apply the same operations to the same inputs. Ids, labels, attributes
/// written at their default and the order of commutative inputs do not count.
std::vector<NodeHash> structural_hashes(const Graph& graph, const OpTable& ops);

}  // namespace lanista::graph
