#include "lanista/model/graph/editor.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/model/graph/size_limits.h"
#include "lanista/model/graph/text.h"

namespace lanista::graph {
namespace {

std::string missing_node_error(NodeId id) { return "there is no node " + port_text({id, 0}); }

/// Applies one edit, or returns why it does not fit the graph, which is unchanged then.
///
/// `gone` has the ids that earlier edits removed, which must not be reused. An id that the graph never had may be
/// reserved for a related model of the same blueprint.
class Apply {
 public:
  Apply(GraphBuilder& builder, std::set<NodeId>& gone) : builder_(builder), removed_ids_(gone) {}

  std::optional<std::string> operator()(const PutNode& edit) {
    const NodeId id = edit.node.id;
    if (id.value > kMaxNodeId) return "node number " + std::to_string(id.value) + " is too large";
    if (removed_ids_.contains(id)) return "number " + port_text({id, 0}) + " was used before";
    builder_.put(edit.node);
    return std::nullopt;
  }
  std::optional<std::string> operator()(const RemoveNode& edit) {
    if (!graph().contains(edit.id)) return missing_node_error(edit.id);
    builder_.remove(edit.id);
    removed_ids_.insert(edit.id);
    return std::nullopt;
  }
  std::optional<std::string> operator()(const SetInput& edit) {
    if (!graph().contains(edit.node)) return missing_node_error(edit.node);
    Node node = graph().node(edit.node);
    if (edit.slot > node.inputs.size()) {
      return port_text({edit.node, 0}) + " has " + std::to_string(node.inputs.size()) + " inputs, input " +
             std::to_string(edit.slot) + " would leave a gap";
    }
    if (edit.slot == node.inputs.size()) node.inputs.emplace_back();
    node.inputs[edit.slot] = edit.source;
    builder_.put(std::move(node));
    return std::nullopt;
  }
  std::optional<std::string> operator()(const SetAttr& edit) {
    if (!graph().contains(edit.node)) return missing_node_error(edit.node);
    Node node = graph().node(edit.node);
    node.attrs.set(edit.name, edit.value);
    builder_.put(std::move(node));
    return std::nullopt;
  }

 private:
  const Graph& graph() const { return builder_.peek(); }
  GraphBuilder& builder_;
  std::set<NodeId>& removed_ids_;
};

}  // namespace

Editor::Editor(const Graph& base, const OpTable& ops) : ops_(ops), builder_(base) {}

Result<Types> Editor::types() const { return infer_shapes(graph(), ops_); }

void Editor::record(Edit edit) {
  const auto why_not = std::visit(Apply(builder_, removed_ids_), edit);
  LANISTA_CHECK(!why_not, edit_text(edit) + ": " + why_not.value_or(""));
  edits_.push_back(std::move(edit));
}

NodeId Editor::add(std::string op, std::vector<Port> inputs, Attrs attrs, std::string label) {
  const NodeId id = graph().next_id();
  record(PutNode{Node{id, std::move(op), std::move(attrs), std::move(inputs), std::move(label)}});
  return id;
}

void Editor::set(NodeId node, std::string_view attr, AttrValue value) {
  record(SetAttr{node, std::string(attr), std::move(value)});
}

void Editor::set_input(NodeId node, std::uint32_t slot, Port source) { record(SetInput{node, slot, source}); }

void Editor::replace(NodeId node, std::string op, Attrs attrs) {
  Node changed = graph().node(node);
  changed.op = std::move(op);
  changed.attrs = std::move(attrs);
  record(PutNode{std::move(changed)});
}

void Editor::put(Node node) {
  LANISTA_CHECK(graph().contains(node.id), missing_node_error(node.id));
  record(PutNode{std::move(node)});
}

void Editor::replace_uses(Port from, Port to) {
  for (const Use& use : graph().consumers(from.node)) {
    if (use.node == to.node || graph().node(use.node).inputs[use.slot] != from) continue;
    set_input(use.node, use.slot, to);
  }
}

NodeId Editor::insert_after(Port source, std::string op, Attrs attrs, std::string label) {
  const NodeId id = add(std::move(op), {source}, std::move(attrs), std::move(label));
  replace_uses(source, {id, 0});
  return id;
}

void Editor::bypass(NodeId node, std::uint32_t through) {
  const auto inputs = graph().node(node).inputs;
  LANISTA_CHECK(through < inputs.size(), port_text({node, 0}) + " has no input " + std::to_string(through));
  for (const Use& use : graph().consumers(node)) set_input(use.node, use.slot, inputs[through]);

  std::vector<NodeId> idle{node};
  while (!idle.empty()) {
    const NodeId id = idle.back();
    idle.pop_back();
    const auto feeds = graph().node(id).inputs;
    remove(id);
    for (const Port& port : feeds) {
      const bool gone = !graph().contains(port.node) || std::find(idle.begin(), idle.end(), port.node) != idle.end();
      // The input always stays; verify reports it if no node reads it.
      if (gone || graph().node(port.node).is_input() || !graph().consumers(port.node).empty()) continue;
      idle.push_back(port.node);
    }
  }
}

void Editor::remove(NodeId node) { record(RemoveNode{node}); }

Result<Edited> Editor::commit() && {
  LANISTA_TRY(verify(graph(), ops_));
  return Edited{std::move(builder_).take(), std::move(edits_)};
}

Result<Graph> apply_edits(const Graph& base, std::span<const Edit> edits, const OpTable& ops) {
  GraphBuilder builder(base);
  std::set<NodeId> gone;
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (const auto why_not = std::visit(Apply(builder, gone), edits[i])) {
      return Error{Code::kDataLoss, "edit " + std::to_string(i + 1) + " (" + edit_text(edits[i]) + "): " + *why_not,
                   ""};
    }
  }
  LANISTA_TRY(verify(builder.peek(), ops));
  return std::move(builder).take();
}

}  // namespace lanista::graph
