#pragma once

#include <vector>

#include "lanista/base/digest.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"

// Pairs of nodes of two models, and hashes of nodes. Nodes that compute the same have equal hashes.
namespace lanista::graph {

/// A node of a first and a node of a second model that correspond to each other.
struct NodePair {
  NodeId a;  ///< id in the first model
  NodeId b;  ///< id in the second model
  auto operator<=>(const NodePair&) const = default;
};

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
