#include "lanista/model/mutate/compound_edits.h"

#include <algorithm>

#include "lanista/model/mutate/model_view.h"

namespace lanista::mutate {

using graph::Editor;
using graph::Node;
using graph::NodeId;
using graph::Port;
using graph::Use;

NodeId insert_on_edge(Editor& editor, Use edge, Replacement layer, std::string label) {
  const Port source = editor.graph().node(edge.node).inputs[edge.slot];
  const NodeId added = editor.add(std::move(layer.op), {source}, std::move(layer.attrs), std::move(label));
  editor.set_input(edge.node, edge.slot, {added, 0});
  return added;
}

void rewire(Editor& editor, Use edge, Port source) {
  const NodeId before = editor.graph().node(edge.node).inputs[edge.slot].node;
  editor.set_input(edge.node, edge.slot, source);
  remove_unused(editor, before);
}

void remove_unused(Editor& editor, NodeId from) {
  std::vector<NodeId> open{from};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!editor.graph().contains(id)) continue;
    const Node& node = editor.graph().node(id);
    if (node.is_input() || node.is_output() || !editor.graph().consumers(id).empty()) continue;
    for (const Port& port : node.inputs) open.push_back(port.node);
    editor.remove(id);
  }
}

namespace {

/// Stores `user` with fewer inputs, or replaces it by its only input. Returns false if it must be removed.
bool can_lose_input(Editor& editor, Node user, const graph::OpTable& ops) {
  const graph::OpDef* def = ops.find(user.op);
  if (def == nullptr || def->max_inputs >= 0 || user.inputs.empty()) return false;
  if (user.inputs.size() >= static_cast<std::size_t>(def->min_inputs)) {
    editor.put(std::move(user));
  } else {
    if (user.inputs.size() != 1) return false;
    editor.replace_uses({user.id, 0}, user.inputs.front());
    editor.remove(user.id);
  }
  return true;
}

}  // namespace

Result<void> remove_cascade(Editor& editor, NodeId node, const graph::OpTable& ops) {
  std::vector<NodeId> open{node};
  std::vector<NodeId> feeds;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!editor.graph().contains(id)) continue;
    const Node gone = editor.graph().node(id);
    if (gone.is_input() || gone.is_output()) return not_applicable(site_name(gone) + " would go with it");
    for (const Use& use : editor.graph().consumers(id)) {
      if (!editor.graph().contains(use.node)) continue;  // it read the value twice
      Node user = editor.graph().node(use.node);
      std::erase_if(user.inputs, [&](Port port) { return port.node == id; });
      if (!can_lose_input(editor, user, ops)) open.push_back(user.id);
    }
    for (const Port& port : gone.inputs) feeds.push_back(port.node);
    editor.remove(id);
  }
  for (const NodeId feed : feeds) remove_unused(editor, feed);
  return {};
}

void relabel(Editor& editor, NodeId node, std::string label) {
  Node changed = editor.graph().node(node);
  changed.label = std::move(label);
  editor.put(std::move(changed));
}

void specialise(Editor& editor, NodeId node) {
  const std::string label = editor.graph().node(node).label;
  const auto nodes = editor.graph().nodes();
  const auto has = [&](const std::string& text, bool others_only) {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](const auto& n) { return n->label == text && !(others_only && n->id == node); });
  };
  if (label.empty() || !has(label, true)) return;
  int number = 1;
  while (has(label + "/" + std::to_string(number), false)) ++number;
  relabel(editor, node, label + "/" + std::to_string(number));
}

Port append(Editor& editor, Port source, std::span<const Replacement> layers) {
  for (const Replacement& layer : layers) source = {editor.add(layer.op, {source}, layer.attrs), 0};
  return source;
}

std::vector<NodeId> duplicate(Editor& editor, std::span<const NodeId> chain) {
  const Port end{chain.back(), 0};
  std::vector<NodeId> copies;
  Port at = end;
  for (const NodeId id : chain) {
    const Node node = editor.graph().node(id);
    at = {editor.add(node.op, {at}, node.attrs, node.label), 0};
    copies.push_back(at.node);
  }
  // The first copy still reads the original.
  for (const Use& use : editor.graph().consumers(end.node)) {
    if (use.node != copies.front()) editor.set_input(use.node, use.slot, at);
  }
  return copies;
}

void replace_chain(Editor& editor, std::span<const NodeId> chain, std::span<const Replacement> layers) {
  const Port source = editor.graph().node(chain.front()).inputs.front();
  const Port end = append(editor, source, layers);
  editor.replace_uses({chain.back(), 0}, end);
  remove_unused(editor, chain.back());
}

}  // namespace lanista::mutate
