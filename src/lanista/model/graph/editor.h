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

// The primitive edits. Replaying the list on the same base gives the same graph, ids included.
struct PutNode {  ///< add a node, or replace operator, attributes, inputs and label of the one with this id
  Node node;
  bool operator==(const PutNode&) const = default;
};
struct RemoveNode {
  NodeId id;
  bool operator==(const RemoveNode&) const = default;
};
struct SetInput {
  NodeId node;
  std::uint32_t slot = 0;
  Port source;
  bool operator==(const SetInput&) const = default;
};
struct SetAttr {
  NodeId node;
  std::string name;
  AttrValue value;
  bool operator==(const SetAttr&) const = default;
};
using Edit = std::variant<PutNode, RemoveNode, SetInput, SetAttr>;

/// A graph together with the edits that made it from its base.
struct Edited {
  Graph graph;
  std::vector<Edit> edits;
};

/// The only way to change a graph. Edits are recorded; nothing is checked until commit, so that a graph may pass
/// through states that do not verify. Not thread-safe; the base is untouched.
class Editor {
 public:
  Editor(const Graph& base, const OpTable& ops);

  /// The graph as edited so far.
  const Graph& graph() const { return builder_.peek(); }
  /// Types of the graph as edited so far; an error while it does not fit together.
  Result<Types> types() const;

  NodeId add(std::string op, std::vector<Port> inputs, Attrs attrs = {}, std::string label = {});
  void set(NodeId node, std::string_view attr, AttrValue value);
  /// Rewires an input; the slot behind the last one adds an input (a further branch into `add`).
  void set_input(NodeId node, std::uint32_t slot, Port source);
  void replace(NodeId node, std::string op, Attrs attrs);  ///< keeps id, inputs and label
  /// Another node in the place of the one with its id: label and number of inputs may differ too.
  void put(Node node);
  /// Every use of `from` becomes a use of `to`, except by `to.node` itself.
  void replace_uses(Port from, Port to);
  /// Puts a one-input operation between `source` and its users; returns the new node.
  NodeId insert_after(Port source, std::string op, Attrs attrs = {}, std::string label = {});
  /// Uses of the node become uses of its input `through`; then the node goes, with whatever fed only it (never the
  /// model's input).
  void bypass(NodeId node, std::uint32_t through = 0);
  void remove(NodeId node);  ///< its uses must be gone at commit

  /// Re-infers, verifies, and gives the new graph with the recorded edits. Errors as in verify.
  Result<Edited> commit() &&;

 private:
  void record(Edit edit);
  const OpTable& ops_;
  GraphBuilder builder_;
  std::vector<Edit> edits_;
  std::set<NodeId> removed_ids_;  ///< removed here: their numbers do not return
};

/// Replays recorded edits. Errors: kDataLoss if an edit names a node that is not there, an input behind a gap, or
/// takes up the number of a node that an earlier edit removed; then verify's errors.
Result<Graph> apply_edits(const Graph& base, std::span<const Edit> edits, const OpTable& ops);

/// One line an edit, for logs and `show`; parse_edit is its inverse.
std::string edit_text(const Edit& edit);
Result<Edit> parse_edit(std::string_view text);

}  // namespace lanista::graph
