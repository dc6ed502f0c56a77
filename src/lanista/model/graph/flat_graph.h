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

/// Collects bytes and returns their hash. A string is preceded by its length, so that neighbouring fields cannot merge.
class HashInput {
 public:
  /// Appends the eight bytes of a number, the lowest first.
  HashInput& number(std::uint64_t v) {
    char raw[sizeof v];
    for (std::size_t i = 0; i < sizeof v; ++i) raw[i] = static_cast<char>((v >> (8 * i)) & 0xff);
    bytes_.append(raw, sizeof v);
    return *this;
  }
  /// Appends the length of a string, as number() does, and its bytes.
  HashInput& text(std::string_view s) {
    number(s.size());
    bytes_.append(s);
    return *this;
  }
  /// Appends another hash.
  HashInput& digest(const Digest& d) { return number(d.hi).number(d.lo); }
  /// Returns the hash of all bytes since the start or the last finish(), and clears them. The memory is kept for the
  /// next hash.
  Digest finish() {
    const Digest d = hash_text(bytes_);
    bytes_.clear();
    return d;
  }

 private:
  std::string bytes_;
};

/// One end of a connection between two nodes, in the list of the node at the other end.
struct Edge {
  std::size_t node = 0;    ///< number of the neighbour in FlatGraph; kNoNode: missing
  std::uint64_t out = 0;   ///< output number of the node that computes the value
  std::uint64_t slot = 0;  ///< input number of the node that reads it; 0 at a commutative operator
  auto operator<=>(const Edge&) const = default;
};
/// The number of a neighbour that the graph lacks, in `Edge::node`.
inline constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);

/// A list of edges for each node of a graph, stored in one array. Nodes are numbers from 0.
class EdgeLists {
 public:
  /// The edges of node `v`. The span lives as long as the object.
  std::span<const Edge> operator[](std::size_t v) const {
    return std::span(edges_).subspan(first_[v], first_[v + 1] - first_[v]);
  }
  /// Makes the lists of `num_nodes` nodes from pairs of node number and edge. A list keeps the order of its pairs.
  EdgeLists(std::size_t num_nodes, std::span<const std::pair<std::size_t, Edge>> pairs);

 private:
  std::vector<std::size_t> first_;
  std::vector<Edge> edges_;
};

/// An acyclic graph as arrays. Nodes have numbers from 0 in dependency order. It points into the graph and the operator
/// table, which must live as long.
struct FlatGraph {
  std::vector<const Node*> nodes;  ///< node of each number
  std::vector<const OpDef*> defs;  ///< operator of each number; null if unknown
  EdgeLists inputs;                ///< for each node, the nodes that it reads, by input number
  EdgeLists uses;                  ///< for each node, the nodes that read it, ascending

  std::size_t size() const { return nodes.size(); }
  /// True if the order of the inputs of node `v` does not matter.
  bool commutative(std::size_t v) const { return defs[v] != nullptr && defs[v]->commutative; }
};

/// Converts a graph to arrays. Unknown operators are allowed. O((n + edges) log n). A cycle is a bug of the caller.
FlatGraph flatten(const Graph& graph, const OpTable& ops);

/// Appends operator and attributes of a node to `key`, without inputs and label. Attributes with their default value
/// are left out. `def` is the definition of the operator; null: unknown, so all set attributes are appended.
void hash_operation(const Node& node, const OpDef* def, HashInput& key);

/// True if two nodes have the same operator and the same attributes, where an absent attribute has its default.
bool same_operation(const Node& a, const Node& b, const OpTable& ops);

/// Returns the node without those attributes that each lane may set for itself (`AttrSpec::per_lane`).
Node without_lane_attributes(Node node, const OpTable& ops);

/// The Merkle hash of each node, by node number. It covers the operation of the node and, through the inputs, all nodes
/// before it.
///
/// Ids, labels and the order of the inputs of commutative operators do not count. Equal hashes mean equal computations.
std::vector<Digest> merkle_hashes(const FlatGraph& flat);

/// Adds the hashes of neighbours to a hash, independent of the order of the edges. It is an object to keep its memory
/// between calls. Not thread-safe.
class NeighbourHasher {
 public:
  /// Appends to `key`, for each of `edges`, the hash of the neighbour with output and input number, in sorted order.
  /// `far` has a hash for each node number.
  void add_to_hash(std::span<const Edge> edges, std::span<const Digest> far, HashInput& key);

 private:
  std::vector<std::pair<Digest, std::pair<std::uint64_t, std::uint64_t>>> scratch_;
};

}  // namespace lanista::graph
