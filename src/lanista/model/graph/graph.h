#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/id.h"
#include "lanista/model/graph/attr.h"
#include "lanista/model/graph/shape.h"

namespace lanista::graph {

using NodeId = Id<struct NodeTag>;

/// One output of a node.
struct Port {
  NodeId node;
  std::uint32_t slot = 0;
  auto operator<=>(const Port&) const = default;
};

/// One use of a value: input number `slot` of `node`.
struct Use {
  NodeId node;
  std::uint32_t slot = 0;
  auto operator<=>(const Use&) const = default;
};

/// An operation with its inputs. Immutable once inside a graph; edits replace it, keeping the id.
struct Node {
  NodeId id;
  std::string op;
  Attrs attrs;
  std::vector<Port> inputs;
  std::string label;  ///< equal labels mean equal choice; free text for matching, may be empty
  bool operator==(const Node&) const = default;
};

/// A model as a value: a directed acyclic graph of operations with stable node ids.
///
/// Copying shares the immutable nodes, so a fork is cheap. Ids are never reused inside a graph and its
/// descendants. Iteration is in id order, everywhere. Graphs change only through Editor.
class Graph {
 public:
  std::size_t size() const { return nodes_.size(); }
  std::vector<NodeId> ids() const;
  bool contains(NodeId id) const;
  /// Where the node stands in nodes(); size() if it is not there. O(log of the number of ids that are gone).
  std::size_t index_of(NodeId id) const;
  /// The node; asking for a node that is not there is a bug.
  const Node& node(NodeId id) const;
  /// Nodes in id order.
  std::span<const std::shared_ptr<const Node>> nodes() const { return nodes_; }
  /// The first id that was never used.
  NodeId next_id() const { return next_id_; }

  /// Dependency order; among ready nodes the smallest id first. Nodes on a cycle or behind one are left out, inputs
  /// from nodes that are not there are not waited for (verify refuses both). O((n + edges) log n).
  std::vector<NodeId> topo() const;
  /// The same as places in nodes().
  std::vector<std::size_t> dependency_order() const;
  /// All uses of any output of `id`, in order of (node, slot). O(edges).
  std::vector<Use> consumers(NodeId id) const;
  /// Ids of the nodes with this operator.
  std::vector<NodeId> nodes_of(std::string_view op) const;

  bool operator==(const Graph& other) const;

 private:
  friend class GraphBuilder;
  std::vector<std::shared_ptr<const Node>> nodes_;  // sorted by id
  NodeId next_id_{0};
};

/// Raw construction without verification: for the text parser, the editor and step derivation.
class GraphBuilder {
 public:
  GraphBuilder() = default;
  explicit GraphBuilder(Graph base) : graph_(std::move(base)) {}

  /// Adds a node under a fresh id.
  NodeId add(std::string op, std::vector<Port> inputs, Attrs attrs = {}, std::string label = {});
  /// Adds or replaces a node under its own id (raises next_id if needed).
  void put(Node node);
  /// Removes a node; its uses are left dangling.
  void remove(NodeId id);
  /// Raises the first free id; ids of deleted nodes must not return.
  void reserve_ids(NodeId next);
  const Graph& peek() const { return graph_; }
  Graph take() && { return std::move(graph_); }

 private:
  Graph graph_;
};

}  // namespace lanista::graph
