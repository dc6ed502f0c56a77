#include "lanista/app/report/model_diff.h"

#include <algorithm>
#include <set>

#include "lanista/model/graph/text.h"

namespace lanista::report {
namespace {

using graph::Node;
using Kind = NodeChange::Kind;

void note_change(std::string& note, const std::string& what, const std::string& before, const std::string& after) {
  if (before == after) return;
  note += (note.empty() ? "" : ", ") + what + " " + before + " -> " + after;
}

std::string changes(const Node& before, const Node& after) {
  std::string note;
  if (before.op != after.op) note = before.op + " -> " + after.op;
  std::set<std::string> names;
  for (const auto& [name, value] : before.attrs) names.insert(name);
  for (const auto& [name, value] : after.attrs) names.insert(name);
  const auto text = [](const graph::AttrValue* value) { return value ? graph::attr_text(*value) : "default"; };
  for (const std::string& name : names) {
    note_change(note, name, text(before.attrs.find(name)), text(after.attrs.find(name)));
  }
  for (std::size_t i = 0; i < std::max(before.inputs.size(), after.inputs.size()); ++i) {
    const auto source = [i](const Node& node) {
      return i < node.inputs.size() ? graph::port_text(node.inputs[i]) : std::string("none");
    };
    note_change(note, "input " + std::to_string(i), source(before), source(after));
  }
  return note;
}

}  // namespace

std::vector<NodeChange> model_diff(const graph::Graph& parent, const graph::Graph& child) {
  std::vector<NodeChange> out;
  for (const auto& node : child.nodes()) {
    if (!parent.contains(node->id)) {
      out.push_back({node->id, Kind::kAdded, ""});
      continue;
    }
    std::string note = changes(parent.node(node->id), *node);
    const Kind kind = note.empty() ? Kind::kSame : Kind::kChanged;
    out.push_back({node->id, kind, std::move(note)});
  }
  for (const auto& node : parent.nodes()) {
    if (!child.contains(node->id)) out.push_back({node->id, Kind::kRemoved, graph::node_text(*node)});
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
  return out;
}

}  // namespace lanista::report
