#include "lanista/model/graph/flat_graph.h"

#include <algorithm>
#include <cstring>

#include "lanista/base/check.h"

namespace lanista::graph {
namespace {

void hash_attr_value(const AttrValue& value, bool as_real, HashInput& key) {
  const auto real = [&](double v) {
    std::uint64_t bits = 0;
    v = v == 0.0 ? 0.0 : v;  // -0.0 equals 0.0
    std::memcpy(&bits, &v, sizeof bits);
    key.number(2).number(bits);
  };
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    if (as_real) return real(static_cast<double>(*integer));
    key.number(1).number(static_cast<std::uint64_t>(*integer));
  } else if (const auto* number = std::get_if<double>(&value)) {
    real(*number);
  } else if (const auto* flag = std::get_if<bool>(&value)) {
    key.number(0).number(*flag ? 1 : 0);
  } else if (const auto* word = std::get_if<std::string>(&value)) {
    key.number(3).text(*word);
  } else {
    const auto& list = std::get<std::vector<std::int64_t>>(value);
    key.number(4).number(list.size());
    for (const std::int64_t v : list) key.number(static_cast<std::uint64_t>(v));
  }
}

}  // namespace

EdgeLists::EdgeLists(std::size_t num_nodes, std::span<const std::pair<std::size_t, Edge>> pairs)
    : first_(num_nodes + 1, 0), edges_(pairs.size()) {
  for (const auto& [v, edge] : pairs) ++first_[v + 1];
  for (std::size_t v = 0; v < num_nodes; ++v) first_[v + 1] += first_[v];
  std::vector<std::size_t> fill(first_.begin(), first_.end() - 1);
  for (const auto& [v, edge] : pairs) edges_[fill[v]++] = edge;
}

FlatGraph flatten(const Graph& graph, const OpTable& ops) {
  std::vector<const Node*> nodes;
  std::vector<const OpDef*> defs;
  std::vector<std::size_t> number(graph.size(), kNoNode);  // number in dependency order, by index in graph.nodes()
  for (const std::size_t place : graph.dependency_order()) {
    number[place] = nodes.size();
    nodes.push_back(graph.nodes()[place].get());
    defs.push_back(ops.find(nodes.back()->op));
  }
  LANISTA_CHECK(nodes.size() == graph.size(), "a graph with a cycle has no dependency order");

  std::vector<std::pair<std::size_t, Edge>> inputs;
  std::vector<std::pair<std::size_t, Edge>> uses;
  for (std::size_t v = 0; v < nodes.size(); ++v) {
    const bool ordered = defs[v] == nullptr || !defs[v]->commutative;
    std::uint64_t slot = 0;
    for (const Port& port : nodes[v]->inputs) {
      const std::size_t place = graph.index_of(port.node);
      const std::size_t source = place == graph.size() ? kNoNode : number[place];
      inputs.push_back({v, {source, port.slot, slot}});
      if (source != kNoNode) uses.push_back({source, {v, port.slot, slot}});
      if (ordered) ++slot;
    }
  }
  const std::size_t size = nodes.size();
  return {std::move(nodes), std::move(defs), EdgeLists(size, inputs), EdgeLists(size, uses)};
}

void hash_operation(const Node& node, const OpDef* def, HashInput& key) {
  key.text(node.op);
  for (const auto& [name, value] : node.attrs) {
    bool as_real = false;
    if (def != nullptr) {
      const auto spec = std::find_if(def->attrs.begin(), def->attrs.end(),
                                     [&, &wanted = name](const AttrSpec& s) { return s.name == wanted; });
      if (spec != def->attrs.end()) {
        as_real = std::holds_alternative<double>(spec->default_value);
        const auto* integer = std::get_if<std::int64_t>(&value);
        const bool is_default = as_real && integer != nullptr
                                    ? static_cast<double>(*integer) == std::get<double>(spec->default_value)
                                    : value == spec->default_value;
        if (is_default && !spec->required) continue;
      }
    }
    key.text(name);
    hash_attr_value(value, as_real, key);
  }
  key.number(~std::uint64_t{0});  // the end of the attributes: no name has this length
}

bool same_operation(const Node& a, const Node& b, const OpTable& ops) {
  if (a.op != b.op) return false;
  if (a.attrs == b.attrs) return true;
  const OpDef* def = ops.find(a.op);
  HashInput key;
  hash_operation(a, def, key);
  const Digest left = key.finish();
  hash_operation(b, def, key);
  return left == key.finish();
}

Node without_lane_attributes(Node node, const OpTable& ops) {
  const OpDef* def = ops.find(node.op);
  if (def == nullptr) return node;
  for (const AttrSpec& spec : def->attrs) {
    if (spec.per_lane) node.attrs.erase(spec.name);
  }
  return node;
}

void NeighbourHasher::add_to_hash(std::span<const Edge> edges, std::span<const Digest> far, HashInput& key) {
  scratch_.clear();
  for (const Edge& e : edges) scratch_.push_back({e.node == kNoNode ? Digest{} : far[e.node], {e.out, e.slot}});
  std::sort(scratch_.begin(), scratch_.end());
  key.number(scratch_.size());
  for (const auto& [end, slots] : scratch_) key.digest(end).number(slots.first).number(slots.second);
}

std::vector<Digest> merkle_hashes(const FlatGraph& flat) {
  std::vector<Digest> hashes(flat.size());
  HashInput key;
  NeighbourHasher ends;
  for (std::size_t v = 0; v < flat.size(); ++v) {
    hash_operation(*flat.nodes[v], flat.defs[v], key);
    ends.add_to_hash(flat.inputs[v], hashes, key);
    hashes[v] = key.finish();
  }
  return hashes;
}

}  // namespace lanista::graph
