#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"

// A graph as arrays, and hashes of its nodes, for algorithms over whole graphs.
namespace lanista::graph {

/// Collects the bytes of one hash. A string is preceded by its length, so that fields cannot merge.
class HashInput {
 public:
  /// Appends eight bytes, the lowest first.
  HashInput& number(std::uint64_t v) {
    char raw[sizeof v];
    for (std::size_t i = 0; i < sizeof v; ++i) raw[i] = static_cast<char>((v >> (8 * i)) & 0xff);
    bytes_.append(raw, sizeof v);
    return *this;
  }
  /// Appends the length of a string and its bytes.
  HashInput& text(std::string_view s) {
    number(s.size());
    bytes_.append(s);
    return *this;
  }
  /// Appends another hash.
  HashInput& digest(const Digest& d) { return number(d.hi).number(d.lo); }
  /// Returns the hash of the bytes and clears them. The memory is kept for the next hash.
  Digest finish() {
    const Digest d = hash_text(bytes_);
    bytes_.clear();
    return d;
  }

 private:
  std::string bytes_;
};

/// A connection of a node to a neighbour, which is a source or a user of its values.
struct Edge {
  std::size_t node = 0;    ///< number of the node at the other end, or kNoNode
  std::uint64_t out = 0;   ///< output slot of the source
  std::uint64_t slot = 0;  ///< input slot of the user; 0 for all inputs of a commutative operator
  auto operator<=>(const Edge&) const = default;
};
/// The node number of an edge to a node that the graph lacks.
inline constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);

/// A list of edges for each node of a graph, stored in one array.
class EdgeLists {
 public:
  /// The edges of node `v`.
  std::span<const Edge> operator[](std::size_t v) const {
    return std::span(edges_).subspan(first_[v], first_[v + 1] - first_[v]);
  }
  /// Makes the lists of `num_nodes` nodes from pairs of node number and edge. A list keeps the order of its pairs.
  EdgeLists(std::size_t num_nodes, std::span<const std::pair<std::size_t, Edge>> pairs);

 private:
  std::vector<std::size_t> first_;
  std::vector<Edge> edges_;
};

/// An acyclic graph as arrays. Nodes are numbered in dependency order. It points into the graph and the operator table.
struct FlatGraph {
  std::vector<const Node*> nodes;  ///< by node number
  std::vector<const OpDef*> defs;  ///< by node number; null for an unknown operator
  EdgeLists inputs;                ///< edges to the sources of each node, by input slot
  EdgeLists uses;                  ///< edges to the users of each node

  std::size_t size() const { return nodes.size(); }
  /// Whether the order of the inputs of node `v` does not matter.
  bool commutative(std::size_t v) const { return defs[v] != nullptr && defs[v]->commutative; }
};

/// Converts a graph to arrays. O((n + edges) log n). A graph with a cycle is a bug of the caller.
FlatGraph flatten(const Graph& graph, const OpTable& ops);

/// Adds operator and attributes of a node to a hash. Attributes at their default are left out. `def` may be null.
void hash_operation(const Node& node, const OpDef* def, HashInput& key);

/// Whether two nodes have the same operator and the same attributes, where an absent attribute has its default.
bool same_operation(const Node& a, const Node& b, const OpTable& ops);

/// Returns the node without the attributes that each lane may set for itself (`AttrSpec::per_lane`).
Node without_lane_attributes(Node node, const OpTable& ops);

/// The Merkle hash of each node, which covers its operation and, through its inputs, all nodes before it.
///
/// Ids, labels and the order of the inputs of commutative operators do not count.
std::vector<Digest> merkle_hashes(const FlatGraph& flat);

/// Hashes the neighbours of nodes independent of their order. It keeps its buffer between calls.
class NeighbourHasher {
 public:
  /// Adds the hashes of the nodes at the other ends of `edges` to `key`, sorted, with their slots.
  /// `far` has a hash for each node.
  void add_to_hash(std::span<const Edge> edges, std::span<const Digest> far, HashInput& key);

 private:
  std::vector<std::pair<Digest, std::pair<std::uint64_t, std::uint64_t>>> scratch_;
};

}  // namespace lanista::graph
