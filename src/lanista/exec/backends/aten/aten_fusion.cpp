#include "lanista/exec/backends/aten/aten_fusion.h"

#include <algorithm>
#include <optional>

#include "lanista/exec/backends/aten/operand_rounding.h"

namespace lanista::device {
namespace {

class FusionFinder {
 public:
  FusionFinder(const graph::Graph& graph, const graph::Types& types, const std::vector<graph::NodeId>& order,
               const std::set<graph::Port>& keep, const AtenFusions& fusions)
      : graph_(graph), types_(types), keep_(keep), fusions_(fusions) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      position_[order[i]] = i;
      for (const graph::Port port : graph.node(order[i]).inputs) readers_[port].push_back(order[i]);
    }
  }

  bool is_fused(graph::NodeId id) const { return fused_.contains(id); }

  std::optional<FusedNodes> match_pair(graph::NodeId first) {
    const std::vector<graph::Port>& inputs = node(first).inputs;
    std::vector<graph::NodeId> candidates;
    for (const graph::Port result : results(first)) {
      candidates.insert(candidates.end(), readers_[result].begin(), readers_[result].end());
    }
    if (inputs.size() > 1) candidates.insert(candidates.end(), readers_[inputs[1]].begin(), readers_[inputs[1]].end());
    for (const graph::NodeId second : candidates) {
      const auto found = fusions_.find({node(first).op, node(second).op});
      if (found == fusions_.end() || second == first || is_fused(second) || !matches(found->second, first, second))
        continue;
      FusedNodes made{&found->second, {first, second}, inputs, {}};
      const std::vector<graph::Port>& second_inputs = node(second).inputs;
      if (const auto place = replaced_input(found->second.kind, {first, 0}, second)) {
        made.outputs = results(first);
        made.outputs.erase(made.outputs.begin());
        for (std::size_t i = 0; i < second_inputs.size(); ++i) {
          if (i != *place) made.inputs.push_back(second_inputs[i]);
        }
      } else {
        made.outputs = results(first);
      }
      made.outputs.push_back({second, 0});
      fused_.insert({first, second});
      return made;
    }
    return {};
  }

  std::optional<FusedNodes> match_many(graph::NodeId last) {
    FusedNodes made{nullptr, {}, {}, {}};
    for (const graph::Port port : node(last).inputs) {
      if (!position_.contains(port.node) || is_fused(port.node) || !has_single_use(port)) return {};
      const auto found = fusions_.find({node(port.node).op, node(last).op});
      if (found == fusions_.end() || found->second.kind != AtenFusion::kManyToOne) return {};
      made.fusion = &found->second;
      const graph::Port from = node(port.node).inputs[0];
      const bool is_product = position_.contains(from.node) && node(from.node).op == "matmul" && !is_fused(from.node) &&
                              has_single_use(from);
      if (is_product) made.nodes.push_back(from.node);
      made.nodes.push_back(port.node);
      const std::vector<graph::Port>& inputs = node(is_product ? from.node : port.node).inputs;
      made.inputs.insert(made.inputs.end(), inputs.begin(), inputs.end());
    }
    if (node(last).inputs.size() < 2) return {};
    made.nodes.push_back(last);
    if (has_single_use({last, 0}) && node(readers_[{last, 0}].front()).op == "transpose") {
      made.nodes.push_back(readers_[{last, 0}].front());
    }
    made.outputs = {{made.nodes.back(), 0}};
    fused_.insert(made.nodes.begin(), made.nodes.end());
    return made;
  }

 private:
  const graph::Node& node(graph::NodeId id) const { return graph_.node(id); }
  std::vector<graph::Port> results(graph::NodeId id) const {
    std::vector<graph::Port> all;
    for (std::uint32_t slot = 0; slot < types_.outputs(id).size(); ++slot) all.push_back({id, slot});
    return all;
  }
  bool has_single_use(graph::Port port) const {
    const auto found = readers_.find(port);
    return found != readers_.end() && found->second.size() == 1 && !keep_.contains(port);
  }
  // Values that the section does not compute exist from the start.
  bool is_available(graph::Port port, graph::NodeId at) const {
    const auto maker = position_.find(port.node);
    return maker == position_.end() || maker->second < position_.at(at);
  }
  // Index of the input of the second node that the fusion removes.
  std::optional<std::size_t> replaced_input(AtenFusion::FusionKind kind, graph::Port result,
                                            graph::NodeId second) const {
    const std::vector<graph::Port>& second_inputs = node(second).inputs;
    const bool either = node(second).op == "add" && second_inputs.size() == 2 && second_inputs[0] == result;
    if (kind == AtenFusion::kReplacesLastInput) return either ? 0 : second_inputs.size() - 1;
    return kind == AtenFusion::kReplacesFirstInput ? std::optional<std::size_t>(0) : std::nullopt;
  }
  bool matches(const AtenFusion& fusion, graph::NodeId first, graph::NodeId second) const {
    if (fusion.of != nullptr && !fusion.of(types_, node(first), node(second))) return false;
    const AtenFusion::FusionKind kind = fusion.kind;
    const graph::Port result{first, 0};
    const std::vector<graph::Port>&of = node(first).inputs, &second_inputs = node(second).inputs;
    switch (kind) {
      case AtenFusion::kReadsFirstOutput:
        return std::ranges::all_of(second_inputs, [&](graph::Port port) {
          return port.node == first || std::ranges::find(of, port) != of.end();
        });
      case AtenFusion::kReplacesLastInput:
      case AtenFusion::kReplacesFirstInput:
        return second_inputs[*replaced_input(kind, result, second)] == result && has_single_use(result) &&
               std::ranges::all_of(second_inputs,
                                   [&](graph::Port port) { return port == result || is_available(port, first); });
      case AtenFusion::kReadsSameInput:
        return second_inputs.size() == 1 && of.size() > 1 && second_inputs[0] == of[1] &&
               position_.at(second) > position_.at(first);
      case AtenFusion::kManyToOne:
        return false;
    }
    return false;
  }

  const graph::Graph& graph_;
  const graph::Types& types_;
  const std::set<graph::Port>& keep_;
  const AtenFusions& fusions_;
  std::map<graph::NodeId, std::size_t> position_;
  std::map<graph::Port, std::vector<graph::NodeId>> readers_;
  std::set<graph::NodeId> fused_;
};

}  // namespace

AtenFusions aten_fusions(const LaneKernels* kernels, Precision precision) {
  AtenFusions fusions;
  if (kernels == nullptr) return fusions;
  // The caller of one product rounds the operands of narrow products.
  const OperandRounding operand_rounding(precision);
  if (!operand_rounding.rounds_operands()) {
    add_lane_linear_fusions(fusions, *kernels, operand_rounding);
    add_lane_move_fusions(fusions, *kernels, operand_rounding);
  }
  add_lane_elementwise_fusions(fusions, *kernels);
  add_lane_norm_fusions(fusions, *kernels);
  return fusions;
}

std::map<graph::NodeId, FusedNodes> find_fusions(const graph::Graph& graph, const graph::Types& types,
                                                 const std::vector<graph::NodeId>& order,
                                                 const std::set<graph::Port>& keep, const AtenFusions& fusions) {
  std::map<graph::NodeId, FusedNodes> all;
  if (fusions.empty()) return all;
  FusionFinder find(graph, types, order, keep, fusions);
  // kManyToOne fusions come first, because they join more calls than a pair.
  for (const graph::NodeId id : order) {
    if (auto match_many = find.is_fused(id) ? std::nullopt : find.match_many(id))
      all.emplace(id, std::move(*match_many));
  }
  for (const graph::NodeId id : order) {
    if (auto match_pair = find.is_fused(id) ? std::nullopt : find.match_pair(id))
      all.emplace(id, std::move(*match_pair));
  }
  return all;
}

}  // namespace lanista::device
