#include <algorithm>
#include <map>
#include <utility>

#include "lanista/plan/sharing/group.h"
#include "lanista/plan/sharing/operator_agenda.h"

// The passes that decide which operators of a group are one.
namespace lanista::fuse {
namespace {

// Runs `merge(group)`, which gives the number of merged operators, on all groups and what they were joined from.
template <class Merge>
std::size_t merge_all(FusionPlan& plan, const PassContext& context, const Merge& merge) {
  std::size_t merged = 0;
  for_each_group(plan.groups, [&](FusedGroup& group) {
    merged += merge(group);
    group.us = step_us(plan.graph, context.cost, group.ops);
  });
  return merged;
}

/// Dense operators that read one tensor become one with the outputs side by side (HFTA's first layer; no input is
/// copied, widths may differ).
class FanOut final : public Pass {
 public:
  std::string_view name() const override { return "fan_out"; }

  Result<std::size_t> run(FusionPlan& plan, const PassContext& context) const override {
    return merge_all(plan, context, [&](FusedGroup& group) { return merge(plan.graph, context.cost, group); });
  }

 private:
  using FanOutKey = std::pair<Digest, OutputRef>;

  // What one tensor feeds, if all lanes read it and are dense.
  static std::optional<FanOutKey> fan_out_key(const LogicalGraph& graph, const PlannedOp& op) {
    const LogicalNode& first = graph.nodes[op.nodes.front()];
    if (!first.dense) return std::nullopt;
    for (const std::size_t v : op.nodes) {
      if (graph.nodes[v].inputs != first.inputs || graph.nodes[v].dense != first.dense) return std::nullopt;
    }
    return FanOutKey{*first.dense, first.inputs.front()};
  }

  static bool several_trials(const LogicalGraph& graph, const std::vector<std::size_t>& nodes) {
    const LogicalNode& first = graph.nodes[nodes.front()];
    return std::any_of(nodes.begin(), nodes.end(), [&](std::size_t v) {
      return graph.nodes[v].owners.front().member != first.owners.front().member;
    });
  }

  static std::size_t merge(const LogicalGraph& graph, const CostModel& cost, FusedGroup& group) {
    std::map<FanOutKey, std::vector<std::size_t>> readers;
    ClassSlots lane_refs;
    for (std::size_t i = 0; i < group.ops.size(); ++i) {
      const PlannedOp& op = group.ops[i];
      for (std::size_t lane = 0; lane < op.nodes.size(); ++lane) lane_refs[op.nodes[lane]] = {i, lane};
      if (const auto at = fan_out_key(graph, op)) readers[*at].push_back(i);
    }
    std::size_t merged = 0;
    for (const auto& [at, ops] : readers) {
      PlannedOp wide{OpForm::kFanOut, {}};
      double apart = 0;
      bool news = ops.size() > 1;
      for (const std::size_t i : ops) {
        wide.nodes.insert(wide.nodes.end(), group.ops[i].nodes.begin(), group.ops[i].nodes.end());
        apart += op_us(graph, cost, group.ops[i], lane_refs);
        news = news || group.ops[i].form != OpForm::kFanOut;
      }
      if (!news || !several_trials(graph, wide.nodes) || op_us(graph, cost, wide, lane_refs) >= apart) continue;
      for (const std::size_t i : ops) group.ops[i].nodes.clear();
      group.ops[ops.front()] = std::move(wide);  // all of them wait for the same value only
      merged += std::max<std::size_t>(1, ops.size() - 1);
    }
    std::erase_if(group.ops, [](const PlannedOp& op) { return op.nodes.empty(); });
    return merged;
  }
};

/// Alike operators of several programs become one with lanes, aligned by an agenda.
class Batch final : public Pass {
 public:
  std::string_view name() const override { return "batch"; }

  Result<std::size_t> run(FusionPlan& plan, const PassContext& context) const override {
    return merge_all(plan, context, [&](FusedGroup& group) {
      if (group.form() != GroupForm::kPacked) return std::size_t{0};  // one program: its lanes are one already
      const std::size_t before = group.ops.size();
      group.ops = merge_operators(plan.graph, context.cost, group, plan.declined);
      return before - group.ops.size();
    });
  }
};

}  // namespace

std::unique_ptr<Pass> fan_out_pass() { return std::make_unique<FanOut>(); }
std::unique_ptr<Pass> batch_pass() { return std::make_unique<Batch>(); }

}  // namespace lanista::fuse
