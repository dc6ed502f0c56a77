#include "lanista/exec/backends/aten/aten_joins.h"

#include <algorithm>
#include <optional>

#include "lanista/exec/backends/aten/aten_rounding.h"

namespace lanista::device {
namespace {

class Finder {
 public:
  Finder(const graph::Graph& graph, const graph::Types& types, const std::vector<graph::NodeId>& order,
         const std::set<graph::Port>& keep, const AtenJoins& joins)
      : graph_(graph), types_(types), keep_(keep), joins_(joins) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      place_[order[i]] = i;
      for (const graph::Port port : graph.node(order[i]).inputs) readers_[port].push_back(order[i]);
    }
  }

  bool is_taken(graph::NodeId id) const { return taken_.contains(id); }

  std::optional<AtenJoined> pair(graph::NodeId first) {
    const std::vector<graph::Port>& inputs = node(first).inputs;
    std::vector<graph::NodeId> near;
    for (const graph::Port result : results(first)) {
      near.insert(near.end(), readers_[result].begin(), readers_[result].end());
    }
    if (inputs.size() > 1) near.insert(near.end(), readers_[inputs[1]].begin(), readers_[inputs[1]].end());
    for (const graph::NodeId second : near) {
      const auto found = joins_.find({node(first).op, node(second).op});
      if (found == joins_.end() || second == first || is_taken(second) || !fits(found->second, first, second)) continue;
      AtenJoined made{&found->second, {first, second}, inputs, {}};
      const std::vector<graph::Port>& its = node(second).inputs;
      if (const auto place = place_of(found->second.kind, {first, 0}, second)) {
        made.outputs = results(first);
        made.outputs.erase(made.outputs.begin());
        for (std::size_t i = 0; i < its.size(); ++i) {
          if (i != *place) made.inputs.push_back(its[i]);
        }
      } else {
        made.outputs = results(first);
      }
      made.outputs.push_back({second, 0});
      taken_.insert({first, second});
      return made;
    }
    return {};
  }

  std::optional<AtenJoined> parts(graph::NodeId last) {
    AtenJoined made{nullptr, {}, {}, {}};
    for (const graph::Port port : node(last).inputs) {
      if (!place_.contains(port.node) || is_taken(port.node) || !is_for_one(port)) return {};
      const auto found = joins_.find({node(port.node).op, node(last).op});
      if (found == joins_.end() || found->second.kind != AtenJoin::kParts) return {};
      made.join = &found->second;
      const graph::Port from = node(port.node).inputs[0];
      const bool is_product =
          place_.contains(from.node) && node(from.node).op == "matmul" && !is_taken(from.node) && is_for_one(from);
      if (is_product) made.nodes.push_back(from.node);
      made.nodes.push_back(port.node);
      const std::vector<graph::Port>& inputs = node(is_product ? from.node : port.node).inputs;
      made.inputs.insert(made.inputs.end(), inputs.begin(), inputs.end());
    }
    if (node(last).inputs.size() < 2) return {};
    made.nodes.push_back(last);
    if (is_for_one({last, 0}) && node(readers_[{last, 0}].front()).op == "transpose") {
      made.nodes.push_back(readers_[{last, 0}].front());
    }
    made.outputs = {{made.nodes.back(), 0}};
    taken_.insert(made.nodes.begin(), made.nodes.end());
    return made;
  }

 private:
  const graph::Node& node(graph::NodeId id) const { return graph_.node(id); }
  std::vector<graph::Port> results(graph::NodeId id) const {
    std::vector<graph::Port> all;
    for (std::uint32_t slot = 0; slot < types_.outputs(id).size(); ++slot) all.push_back({id, slot});
    return all;
  }
  bool is_for_one(graph::Port port) const {
    const auto found = readers_.find(port);
    return found != readers_.end() && found->second.size() == 1 && !keep_.contains(port);
  }
  // What this section does not make is there from the beginning.
  bool is_there(graph::Port port, graph::NodeId at) const {
    const auto maker = place_.find(port.node);
    return maker == place_.end() || maker->second < place_.at(at);
  }
  // Where the second reads what is not made any more.
  std::optional<std::size_t> place_of(AtenJoin::Kind kind, graph::Port result, graph::NodeId second) const {
    const std::vector<graph::Port>& its = node(second).inputs;
    const bool either = node(second).op == "add" && its.size() == 2 && its[0] == result;
    if (kind == AtenJoin::kInstead) return either ? 0 : its.size() - 1;
    return kind == AtenJoin::kFirst ? std::optional<std::size_t>(0) : std::nullopt;
  }
  bool fits(const AtenJoin& join, graph::NodeId first, graph::NodeId second) const {
    if (join.of != nullptr && !join.of(types_, node(first), node(second))) return false;
    const AtenJoin::Kind kind = join.kind;
    const graph::Port result{first, 0};
    const std::vector<graph::Port>&of = node(first).inputs, &its = node(second).inputs;
    switch (kind) {
      case AtenJoin::kAfter:
        return std::ranges::all_of(
            its, [&](graph::Port port) { return port.node == first || std::ranges::find(of, port) != of.end(); });
      case AtenJoin::kInstead:
      case AtenJoin::kFirst:
        return its[*place_of(kind, result, second)] == result && is_for_one(result) &&
               std::ranges::all_of(its, [&](graph::Port port) { return port == result || is_there(port, first); });
      case AtenJoin::kBeside:
        return its.size() == 1 && of.size() > 1 && its[0] == of[1] && place_.at(second) > place_.at(first);
      case AtenJoin::kParts:
        return false;
    }
    return false;
  }

  const graph::Graph& graph_;
  const graph::Types& types_;
  const std::set<graph::Port>& keep_;
  const AtenJoins& joins_;
  std::map<graph::NodeId, std::size_t> place_;
  std::map<graph::Port, std::vector<graph::NodeId>> readers_;
  std::set<graph::NodeId> taken_;
};

}  // namespace

AtenJoins aten_joins(const LaneKernels* kernels, Precision precision) {
  AtenJoins joins;
  if (kernels == nullptr) return joins;
  // Operands of narrow products are rounded by whoever calls one product.
  const Products products(precision);
  if (!products.are_narrow()) {
    join_lane_linear(joins, *kernels, products);
    join_lane_moves(joins, *kernels, products);
  }
  join_lane_elementwise(joins, *kernels);
  join_lane_norms(joins, *kernels);
  return joins;
}

std::map<graph::NodeId, AtenJoined> joined_nodes(const graph::Graph& graph, const graph::Types& types,
                                                 const std::vector<graph::NodeId>& order,
                                                 const std::set<graph::Port>& keep, const AtenJoins& joins) {
  std::map<graph::NodeId, AtenJoined> all;
  if (joins.empty()) return all;
  Finder find(graph, types, order, keep, joins);
  // Parts take more together than a pair would.
  for (const graph::NodeId id : order) {
    if (auto parts = find.is_taken(id) ? std::nullopt : find.parts(id)) all.emplace(id, std::move(*parts));
  }
  for (const graph::NodeId id : order) {
    if (auto pair = find.is_taken(id) ? std::nullopt : find.pair(id)) all.emplace(id, std::move(*pair));
  }
  return all;
}

}  // namespace lanista::device
