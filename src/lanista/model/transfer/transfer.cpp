#include "lanista/model/transfer/transfer.h"

#include <algorithm>
#include <utility>

#include "lanista/model/graph/infer.h"
#include "lanista/model/transfer/transfer_walk.h"

namespace lanista::zoo {
namespace {

constexpr int kMaxTries = 200;  // limit of walks for models with dozens of sums and widened groups

std::set<graph::Port> never_negative_values(const graph::Graph& graph, const graph::OpTable& ops) {
  std::set<graph::Port> out;
  for (const graph::NodeId id : graph.topo()) {
    const graph::Node& node = graph.node(id);
    const graph::SignRule sign = ops.find(node.op)->facts.sign;
    const bool as_inputs = sign == graph::SignRule::kAsInputs && !node.inputs.empty() &&
                           std::ranges::all_of(node.inputs, [&](graph::Port input) { return out.contains(input); });
    if (as_inputs || sign == graph::SignRule::kNeverNegative) out.insert({id, 0});
  }
  return out;
}

/// Whether plan `a` is exact at more nodes than plan `b`.
bool better(const TransferPlan& a, const TransferPlan& b) {
  return std::pair(a.exact, a.exact_nodes.size()) > std::pair(b.exact, b.exact_nodes.size());
}

}  // namespace

std::vector<graph::NodePair> lineage_mapping(const graph::Graph& parent, const graph::Graph& child) {
  std::vector<graph::NodePair> out;
  for (const graph::NodeId id : child.ids()) {
    if (parent.contains(id) && parent.node(id).op == child.node(id).op) out.push_back({id, id});
  }
  return out;
}

Result<TransferPlan> plan_transfer(const graph::Graph& parent, const graph::Graph& child,
                                   std::span<const graph::NodePair> mapping, const graph::OpTable& ops,
                                   const TransferOptions& options) {
  LANISTA_TRY(graph::verify(parent, ops));
  LANISTA_TRY(graph::verify(child, ops));
  LANISTA_ASSIGN(graph::Types before, graph::infer_shapes(parent, ops));
  LANISTA_ASSIGN(graph::Types now, graph::infer_shapes(child, ops));
  UnitClasses old_units = UnitClasses::of(parent, before, ops), new_units = UnitClasses::of(child, now, ops);
  TransferWalk::Models models{parent,
                              child,
                              ops,
                              std::move(before),
                              std::move(now),
                              std::move(old_units),
                              std::move(new_units),
                              {},
                              never_negative_values(parent, ops),
                              {}};
  for (const graph::NodeId id : parent.topo()) models.order.emplace(id, models.order.size());
  for (const std::string_view end : {"input", "output"}) {
    models.partner[child.nodes_of(end).front()] = parent.nodes_of(end).front();
  }
  for (const graph::NodePair& pair : mapping) {
    const bool there = parent.contains(pair.a) && child.contains(pair.b);
    if (!there || parent.node(pair.a).op != child.node(pair.b).op) continue;
    const std::size_t rank = models.parent_types.at({pair.a, 0}).shape.rank();
    if (models.child_types.at({pair.b, 0}).shape.rank() == rank) models.partner.emplace(pair.b, pair.a);
  }

  PlanChoices choices;
  int tries = 0;
  std::set<std::size_t> grown;
  // Sums first: every walk finds new summands that must be zero.
  const auto settle = [&](PlanChoices& with) {
    while (true) {
      TransferWalk walk(models, options, with);
      TransferPlan plan = walk.run();
      grown.insert(walk.grown().begin(), walk.grown().end());
      const std::size_t known = with.zeroed.size();
      if (plan.exact || ++tries > kMaxTries) return plan;
      with.zeroed.insert(walk.requested_zero().begin(), walk.requested_zero().end());
      if (with.zeroed.size() == known) return plan;
    }
  };
  TransferPlan best = settle(choices);
  for (const std::size_t group : std::set<std::size_t>(grown)) {
    for (const Growth growth : {Growth::kRepeat, Growth::kAverage}) {
      if (best.exact || tries > kMaxTries) return best;
      PlanChoices other = choices;
      other.growth[group] = growth;
      TransferPlan plan = settle(other);
      if (better(plan, best)) best = std::move(plan), choices = std::move(other);
    }
  }
  for (const Growth growth : {Growth::kRepeat, Growth::kAverage}) {  // groups of axes that must change together
    if (best.exact || tries > kMaxTries) return best;
    PlanChoices other = choices;
    for (const std::size_t group : grown) other.growth[group] = growth;
    TransferPlan plan = settle(other);
    if (better(plan, best)) best = std::move(plan), choices = std::move(other);
  }
  return best;
}

}  // namespace lanista::zoo
