#include "lanista/model/graph/text.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "lanista/model/graph/size_limits.h"
#include "lanista/model/graph/text_reader.h"

namespace lanista::graph {
namespace {

constexpr std::string_view kNextId = "next_id";

/// Returns the next line without its end, and removes it from `rest`.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

Result<NodeId> read_next_id(LineReader& reader) {
  LANISTA_TRY(reader.word("next_id"));
  reader.skip_blanks();
  LANISTA_ASSIGN(const std::uint32_t next, reader.natural("a node number", kMaxNodeId + 1));
  LANISTA_TRY(reader.expect_end());
  return NodeId{next};
}

}  // namespace

std::string port_text(Port port) {
  std::string out = "%" + std::to_string(port.node.value);
  if (port.slot > 0) out += "." + std::to_string(port.slot);
  return out;
}

std::string node_text(const Node& node) {
  std::string out = port_text({node.id, 0}) + " = " + node.op + "(";
  bool first = true;
  const auto separate = [&] { out += std::exchange(first, false) ? "" : ", "; };
  for (const Port& port : node.inputs) {
    separate();
    out += port_text(port);
  }
  for (const auto& [name, value] : node.attrs) {
    separate();
    out += name + "=" + attr_text(value);
  }
  out += ")";
  if (!node.label.empty()) out += " " + in_quotes(node.label);
  return out;
}

std::string to_text(const Graph& graph) {
  std::string out;
  const auto nodes = graph.nodes();
  const std::uint32_t behind_last = nodes.empty() ? 0 : nodes.back()->id.value + 1;
  if (graph.next_id().value > behind_last) {
    out += std::string(kNextId) + " " + std::to_string(graph.next_id().value) + "\n";
  }
  std::vector<NodeId> order = graph.topo();
  if (order.size() < graph.size())
    order = graph.ids();  // a graph with a cycle has no order, but all its nodes are written
  for (const NodeId id : order) out += node_text(graph.node(id)) + "\n";
  return out;
}

Result<Graph> parse(std::string_view text) {
  std::vector<Node> nodes;
  std::map<NodeId, std::size_t> line_of;
  NodeId next_id{0};
  bool first = true;
  std::size_t attrs = 0;
  for (std::size_t number = 1; !text.empty(); ++number) {
    LineReader reader(take_line(text), number);
    if (reader.at_end()) continue;
    if (std::exchange(first, false) && reader.peek_name() == kNextId) {
      LANISTA_ASSIGN(next_id, read_next_id(reader));
      continue;
    }
    const std::size_t begin = reader.position();
    if (nodes.size() == kMaxTextNodes) return reader.error("a model has at most 100000 nodes");
    LANISTA_ASSIGN(Node node, reader.node());
    attrs += static_cast<std::size_t>(node.attrs.end() - node.attrs.begin());
    if (attrs > kMaxTextAttrs) return reader.error_at(begin, "a model has at most 400000 attributes");
    const auto [earlier, is_new] = line_of.emplace(node.id, number);
    if (!is_new) {
      return reader.error_at(
          begin, "node " + port_text({node.id, 0}) + " is already on line " + std::to_string(earlier->second));
    }
    nodes.push_back(std::move(node));
  }

  // In order of id every node is appended. In another order the builder would move half of the graph each time.
  std::sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) { return a.id < b.id; });
  GraphBuilder builder;
  for (Node& node : nodes) builder.put(std::move(node));
  builder.reserve_ids(next_id);
  return std::move(builder).take();
}

}  // namespace lanista::graph
