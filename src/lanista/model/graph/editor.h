#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"

namespace lanista::graph {

/// Edit: adds a node, or replaces the node with the same id (operator, attributes, inputs and label).
struct PutNode {
  Node node;  ///< the new node
  bool operator==(const PutNode&) const = default;
};
/// Edit: removes a node. Inputs that read it then refer to no node.
struct RemoveNode {
  NodeId id;  ///< the node to remove
  bool operator==(const RemoveNode&) const = default;
};
/// Edit: connects one input of a node to another value.
struct SetInput {
  NodeId node;             ///< the node that reads
  std::uint32_t slot = 0;  ///< input number, from 0; equal to the number of inputs: adds an input
  Port source;             ///< the value to read
  bool operator==(const SetInput&) const = default;
};
/// Edit: sets one attribute of a node, or replaces its value.
struct SetAttr {
  NodeId node;       ///< the node to change
  std::string name;  ///< name of the attribute
  AttrValue value;   ///< its new value
  bool operator==(const SetAttr&) const = default;
};
/// One primitive change of a graph. Applying a list of edits to the same base again gives the same graph, ids included.
using Edit = std::variant<PutNode, RemoveNode, SetInput, SetAttr>;

/// A graph together with the edits that made it from its base.
struct Edited {
  Graph graph;              ///< the result
  std::vector<Edit> edits;  ///< the edits in order; replaying them on the base gives `graph`
};

/// Changes a copy of a graph, and records each change as an `Edit`.
///
/// It checks shapes and connections only in `commit`, so the graph may be inconsistent between two changes. A node or
/// input number that does not exist is a bug of the caller. The base is unchanged. Not thread-safe.
class Editor {
 public:
  /// Starts from `base`. `ops` must live as long as the editor.
  Editor(const Graph& base, const OpTable& ops);

  /// The graph as edited so far. The reference shows later edits; a reference to a node ends with the next edit of that
  /// node.
  const Graph& graph() const { return builder_.peek(); }
  /// Infers the types of the graph as edited so far. Errors as in `infer_shapes` (kNotFound, kInvalidArgument).
  Result<Types> types() const;

  /// Adds a node with a new id and returns the id. The inputs are checked in `commit`.
  NodeId add(std::string op, std::vector<Port> inputs, Attrs attrs = {}, std::string label = {});
  /// Sets an attribute of a node.
  void set(NodeId node, std::string_view attr, AttrValue value);
  /// Connects input number `slot` of a node to `source`. A slot equal to the number of inputs adds an input.
  void set_input(NodeId node, std::uint32_t slot, Port source);
  /// Replaces operator and attributes of a node. Id, inputs and label stay as they are.
  void replace(NodeId node, std::string op, Attrs attrs);
  /// Replaces the node with the same id as `node`, which must exist, by `node`, which may differ in everything else.
  void put(Node node);
  /// Connects every input that reads `from` to `to`, except the inputs of `to.node` itself.
  void replace_uses(Port from, Port to);
  /// Inserts an operation with one input between `source` and all inputs that read `source`. Returns the id of the new
  /// node.
  NodeId insert_after(Port source, std::string op, Attrs attrs = {}, std::string label = {});
  /// Removes a node and connects every input that reads it to the value that its input number `through` reads.
  ///
  /// It also removes the nodes before it that no node reads any more, except the input of the model.
  void bypass(NodeId node, std::uint32_t through = 0);
  /// Removes a node. No node may read it when `commit` runs.
  void remove(NodeId node);

  /// Verifies the graph and returns it with the recorded edits. Errors as in `verify` (kNotFound, kInvalidArgument).
  /// The editor is of no use afterwards.
  Result<Edited> commit() &&;

 private:
  void record(Edit edit);
  const OpTable& ops_;
  GraphBuilder builder_;
  std::vector<Edit> edits_;
  std::set<NodeId> removed_ids_;  ///< ids that edits removed, which must not be reused
};

/// Applies recorded edits to a copy of `base`, verifies the result and returns it.
///
/// Errors: kDataLoss if an edit changes or removes a missing node, leaves a gap between inputs, reuses the id of a
/// removed node, or has an id above kMaxNodeId. Otherwise as in `verify` (kNotFound, kInvalidArgument), also for an
/// input from a missing node.
Result<Graph> apply_edits(const Graph& base, std::span<const Edit> edits, const OpTable& ops);

/// The text of an edit on one line, as the log and `show` have it: put %5 = relu(%3) "label", remove %5,
/// input %5 1 = %3.1, or attr %5 out = 64.
std::string edit_text(const Edit& edit);
/// Reads an edit from the text that `edit_text` writes. Errors: kInvalidArgument with "line:column" in `where`.
Result<Edit> parse_edit(std::string_view text);

}  // namespace lanista::graph
