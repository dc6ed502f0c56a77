#include "lanista/model/graph/graph.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "lanista/base/check.h"
#include "lanista/model/graph/lower_bound_by_id.h"
#include "lanista/model/graph/size_limits.h"

namespace lanista::graph {
namespace {

const auto kIdOf = [](const std::shared_ptr<const Node>& node) { return node->id; };
}  // namespace

std::vector<NodeId> Graph::ids() const {
  std::vector<NodeId> out;
  out.reserve(nodes_.size());
  for (const auto& node : nodes_) out.push_back(node->id);
  return out;
}

std::size_t Graph::index_of(NodeId id) const {
  const std::size_t at = lower_bound_by_id(nodes_, id, kIdOf);
  return at < nodes_.size() && nodes_[at]->id == id ? at : nodes_.size();
}

bool Graph::contains(NodeId id) const { return index_of(id) != nodes_.size(); }

const Node& Graph::node(NodeId id) const {
  const std::size_t at = index_of(id);
  LANISTA_CHECK(at != nodes_.size(), "the graph has no node %" + std::to_string(id.value));
  return *nodes_[at];
}

std::vector<NodeId> Graph::topo() const {
  std::vector<NodeId> order;
  order.reserve(nodes_.size());
  for (const std::size_t place : dependency_order()) order.push_back(nodes_[place]->id);
  return order;
}

std::vector<std::size_t> Graph::dependency_order() const {
  const std::size_t n = nodes_.size();
  std::vector<std::size_t> waits_for(n, 0);
  std::vector<std::size_t> first(n + 1, 0);  // start of the users of node i in `users`
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  for (std::size_t i = 0; i < n; ++i) {
    for (const Port& port : nodes_[i]->inputs) {
      const std::size_t source = index_of(port.node);
      if (source == n) continue;
      edges.emplace_back(source, i);
      ++waits_for[i];
      ++first[source + 1];
    }
  }
  for (std::size_t i = 0; i < n; ++i) first[i + 1] += first[i];
  std::vector<std::size_t> users(edges.size());
  std::vector<std::size_t> fill(first.begin(), first.end() - 1);
  for (const auto& [source, user] : edges) users[fill[source]++] = user;

  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < n; ++i) {
    if (waits_for[i] == 0) ready.push(i);
  }
  std::vector<std::size_t> order;
  order.reserve(n);
  while (!ready.empty()) {
    const std::size_t i = ready.top();
    ready.pop();
    order.push_back(i);
    for (std::size_t e = first[i]; e < first[i + 1]; ++e) {
      if (--waits_for[users[e]] == 0) ready.push(users[e]);
    }
  }
  return order;
}

std::vector<Use> Graph::consumers(NodeId id) const {
  std::vector<Use> out;
  for (const auto& node : nodes_) {
    for (std::size_t slot = 0; slot < node->inputs.size(); ++slot) {
      if (node->inputs[slot].node == id) out.push_back({node->id, static_cast<std::uint32_t>(slot)});
    }
  }
  return out;
}

std::vector<NodeId> Graph::nodes_of(std::string_view op) const {
  std::vector<NodeId> out;
  for (const auto& node : nodes_) {
    if (node->op == op) out.push_back(node->id);
  }
  return out;
}

bool Graph::operator==(const Graph& other) const {
  const auto same = [](const auto& a, const auto& b) { return a == b || *a == *b; };
  return next_id_ == other.next_id_ &&
         std::equal(nodes_.begin(), nodes_.end(), other.nodes_.begin(), other.nodes_.end(), same);
}

NodeId GraphBuilder::add(std::string op, std::vector<Port> inputs, Attrs attrs, std::string label) {
  const NodeId id = graph_.next_id_;
  put(Node{id, std::move(op), std::move(attrs), std::move(inputs), std::move(label)});
  return id;
}

void GraphBuilder::put(Node node) {
  LANISTA_CHECK(node.id.value <= kMaxNodeId, "node id " + std::to_string(node.id.value) + " is too large");
  reserve_ids(NodeId{node.id.value + 1});
  auto& nodes = graph_.nodes_;
  const std::size_t at = lower_bound_by_id(nodes, node.id, kIdOf);
  const bool replaces = at < nodes.size() && nodes[at]->id == node.id;
  auto shared = std::make_shared<const Node>(std::move(node));
  if (replaces) {
    nodes[at] = std::move(shared);
  } else {
    nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(at), std::move(shared));
  }
}

void GraphBuilder::remove(NodeId id) {
  const std::size_t at = graph_.index_of(id);
  LANISTA_CHECK(at != graph_.size(), "the graph has no node %" + std::to_string(id.value));
  graph_.nodes_.erase(graph_.nodes_.begin() + static_cast<std::ptrdiff_t>(at));
}

void GraphBuilder::reserve_ids(NodeId next) { graph_.next_id_ = std::max(graph_.next_id_, next); }

}  // namespace lanista::graph
