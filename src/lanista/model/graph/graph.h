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

/// The id of a node, from 0. It is unique in a graph, and edits keep it.
using NodeId = Id<struct NodeTag>;

/// One output of a node. It stands for the value that the node computes there.
struct Port {
  NodeId node;             ///< node that computes the value
  std::uint32_t slot = 0;  ///< output number, from 0
  auto operator<=>(const Port&) const = default;
};

/// One use of a value: input number `slot` of `node`.
struct Use {
  NodeId node;             ///< node that reads the value
  std::uint32_t slot = 0;  ///< input number, from 0
  auto operator<=>(const Use&) const = default;
};

/// An operation with its inputs. A node inside a graph is immutable; an edit replaces it by another node with the same
/// id.
struct Node {
  NodeId id;                 ///< id in the graph
  std::string op;            ///< name of the operator
  Attrs attrs;               ///< attributes that are set; the others have their defaults
  std::vector<Port> inputs;  ///< values that the operation reads, in order
  std::string label;         ///< text by which mutators select and group nodes; may be empty

  /// True for the node that names the input batch of a model.
  bool is_input() const { return op == "input"; }
  /// True for the node that names the result of a model.
  bool is_output() const { return op == "output"; }
  bool operator==(const Node&) const = default;
};

/// A model as a value: a directed acyclic graph of operations with stable node ids.
///
/// A copy shares the immutable nodes and copies one pointer for each. Ids are never reused inside a graph and the
/// graphs that are edited from it. All iteration is in order of id. A graph changes only through `GraphBuilder` and
/// `Editor`.
class Graph {
 public:
  std::size_t size() const { return nodes_.size(); }
  /// The ids of all nodes, ascending.
  std::vector<NodeId> ids() const;
  /// True if the graph has a node with this id.
  bool contains(NodeId id) const;
  /// The index of a node in nodes(), or size() if the graph lacks it. O(log of the number of ids below next_id() that
  /// no node has).
  std::size_t index_of(NodeId id) const;
  /// The node with this id. An id that the graph lacks is a bug of the caller. The reference lives as long as the
  /// graph.
  const Node& node(NodeId id) const;
  /// All nodes, ascending by id.
  std::span<const std::shared_ptr<const Node>> nodes() const { return nodes_; }
  /// The smallest id above every id that was ever used.
  NodeId next_id() const { return next_id_; }

  /// The ids of all nodes, each after the nodes that it reads; of several possible ones the smallest id is next. O((n +
  /// edges) log n).
  ///
  /// Nodes on a cycle, and nodes that depend on one, are left out. Inputs from missing nodes are ignored. `verify`
  /// refuses both.
  std::vector<NodeId> topo() const;
  /// The order of topo(), as indices in nodes().
  std::vector<std::size_t> dependency_order() const;
  /// The inputs that read any output of node `id`, in order of node id, then input number. Empty if there are none.
  /// O(edges).
  std::vector<Use> consumers(NodeId id) const;
  /// The ids of the nodes with this operator, ascending. Empty if there are none.
  std::vector<NodeId> nodes_of(std::string_view op) const;

  /// True if all nodes and next_id() are equal.
  bool operator==(const Graph& other) const;

 private:
  friend class GraphBuilder;
  std::vector<std::shared_ptr<const Node>> nodes_;  // sorted by id
  NodeId next_id_{0};
};

/// Builds a graph node by node, without checks, for the text parser, the editor and step derivation.
class GraphBuilder {
 public:
  GraphBuilder() = default;
  explicit GraphBuilder(Graph base) : graph_(std::move(base)) {}

  /// Adds a node with the id next_id() and returns the id.
  NodeId add(std::string op, std::vector<Port> inputs, Attrs attrs = {}, std::string label = {});
  /// Adds a node, or replaces the node with the same id. Raises next_id() above the id if needed. An id above
  /// kMaxNodeId is a bug of the caller.
  void put(Node node);
  /// Removes a node, which must exist. Inputs that read it stay as they are and then refer to no node.
  void remove(NodeId id);
  /// Raises next_id() to at least `next`, so that ids of removed nodes are not reused.
  void reserve_ids(NodeId next);
  /// The graph as built so far. The reference lives as long as the builder and shows later changes.
  const Graph& peek() const { return graph_; }
  /// Moves the graph out of the builder, which is of no use afterwards.
  Graph take() && { return std::move(graph_); }

 private:
  Graph graph_;
};

}  // namespace lanista::graph
