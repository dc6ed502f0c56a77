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

// What walks over whole graphs share: a graph as arrays, and the hash of its nodes.
namespace lanista::graph {

/// Bytes to be hashed; strings carry their length, so fields cannot run together.
class HashInput {
 public:
  HashInput& number(std::uint64_t v) {
    char raw[sizeof v];
    for (std::size_t i = 0; i < sizeof v; ++i) raw[i] = static_cast<char>((v >> (8 * i)) & 0xff);
    bytes_.append(raw, sizeof v);
    return *this;
  }
  HashInput& text(std::string_view s) {
    number(s.size());
    bytes_.append(s);
    return *this;
  }
  HashInput& digest(const Digest& d) { return number(d.hi).number(d.lo); }
  /// Hashes what was fed and starts anew; the memory is kept, since this runs for every node of every candidate.
  Digest finish() {
    const Digest d = hash_text(bytes_);
    bytes_.clear();
    return d;
  }

 private:
  std::string bytes_;
};

/// One end of a connection, seen from the other.
struct Edge {
  std::size_t node = 0;    ///< number of the node at the other end, or kNoNode
  std::uint64_t out = 0;   ///< output slot that is read
  std::uint64_t slot = 0;  ///< input slot that reads; the same for all inputs of a commutative operator
  auto operator<=>(const Edge&) const = default;
};
inline constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);

/// A list of edges for each node.
class EdgeLists {
 public:
  std::span<const Edge> operator[](std::size_t v) const {
    return std::span(edges_).subspan(first_[v], first_[v + 1] - first_[v]);
  }
  /// Lists of `num_nodes` nodes from pairs (whose list, edge); the order inside a list is that of the pairs.
  EdgeLists(std::size_t num_nodes, std::span<const std::pair<std::size_t, Edge>> pairs);

 private:
  std::vector<std::size_t> first_;
  std::vector<Edge> edges_;
};

/// A graph without cycles as arrays; nodes are numbered in dependency order. Points into the graph.
struct FlatGraph {
  std::vector<const Node*> nodes;
  std::vector<const OpDef*> defs;  ///< null for operators that the table does not know
  EdgeLists inputs;
  EdgeLists uses;

  std::size_t size() const { return nodes.size(); }
  bool commutative(std::size_t v) const { return defs[v] != nullptr && defs[v]->commutative; }
};

/// O((n + edges) log n). A graph with a cycle is a bug.
FlatGraph flatten(const Graph& graph, const OpTable& ops);

/// Feeds operator and attributes; an attribute at its default is as good as left out. `def` may be null.
void hash_operation(const Node& node, const OpDef* def, HashInput& key);

/// Whether two nodes do the same to their inputs: equal operators, equal attributes, defaults written or not.
bool same_operation(const Node& a, const Node& b, const OpTable& ops);

/// The same, whatever numbers a lane sets for itself (AttrSpec::per_lane): what lanes of one program may differ in.
Node without_lane_attributes(Node node, const OpTable& ops);

/// Merkle hash of each node: its operation and, through its inputs, all above it. Ids and labels do not count, nor
/// does the order of inputs of commutative operators.
std::vector<Digest> merkle_hashes(const FlatGraph& flat);

/// Feeds what stands at the far ends of some edges, told by `far`: sorted, so that their order is forgotten (slots are
/// part of an entry where they matter).
class NeighbourHasher {
 public:
  void add_to_hash(std::span<const Edge> edges, std::span<const Digest> far, HashInput& key);

 private:
  std::vector<std::pair<Digest, std::pair<std::uint64_t, std::uint64_t>>> scratch_;
};

}  // namespace lanista::graph
