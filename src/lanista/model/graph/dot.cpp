#include "lanista/model/graph/text.h"

namespace lanista::graph {
namespace {

/// Escapes text for Graphviz, which has no \xHH escape.
std::string dot_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string dot_label(const Node& node) {
  std::string out = dot_escaped(port_text({node.id, 0}) + " " + node.op);
  if (!node.label.empty()) out += "\\n" + dot_escaped(in_quotes(node.label));
  for (const auto& [name, value] : node.attrs) out += "\\n" + dot_escaped(name + "=" + attr_text(value));
  return out;
}

}  // namespace

std::string to_dot(const Graph& graph) {
  std::string out = "digraph model {\n  node [shape=box];\n";
  for (const auto& node : graph.nodes()) {
    out += "  n" + std::to_string(node->id.value) + " [label=\"" + dot_label(*node) + "\"];\n";
  }
  for (const auto& node : graph.nodes()) {
    for (const Port& port : node->inputs) {
      out += "  n" + std::to_string(port.node.value) + " -> n" + std::to_string(node->id.value);
      if (port.slot > 0) out += " [label=\"." + std::to_string(port.slot) + "\"]";
      out += ";\n";
    }
  }
  return out + "}\n";
}

}  // namespace lanista::graph
