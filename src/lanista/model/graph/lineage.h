#pragma once

#include <vector>

#include "lanista/base/digest.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"

// What two models have in common. Nobody solves a common-subgraph problem: ids tell for relatives, hashes for others.
namespace lanista::graph {

/// The nodes that two relatives share: same id, same operation, and every input fed by the same port of a shared node
/// (Retiarii, OSDI'20). In order of id. With a node, all above it are in the set, so this is also the longest common
/// prefix, and both models compute the same there. Labels do not count, nor whether a default is written. The rule
/// looks at both graphs alone; that the ids mean the same is what a common ancestor is for.
/// O(nodes + edges). Graphs with a cycle are a bug.
std::vector<NodeId> lineage_match(const Graph& a, const Graph& b, const OpTable& ops);

/// A node of one model and the node of another that does the same.
struct NodePair {
  NodeId a, b;
  auto operator<=>(const NodePair&) const = default;
};

/// Pairs nodes of two models that need not be related: the same operation, inputs paired with each other (in any order
/// where the operator is commutative), each node in one pair at most. In dependency order of `a`; of alike nodes the
/// first ones are paired, so among many alike branches pairs may be missed, but none is wrong: what is paired computes
/// the same, and what `a` shares is shared in `b`. O((nodes + edges) log nodes). Graphs with a cycle are a bug.
std::vector<NodePair> structural_match(const Graph& a, const Graph& b, const OpTable& ops);

/// A node and the hash of what it computes.
struct NodeHash {
  NodeId id;
  Digest hash;
  bool operator==(const NodeHash&) const = default;
};

/// Merkle hash of every node, in dependency order: equal for nodes of any models that do the same operations to the
/// same inputs; ids, labels, written defaults and the order of commutative inputs do not count.
std::vector<NodeHash> structural_hashes(const Graph& graph, const OpTable& ops);

}  // namespace lanista::graph
