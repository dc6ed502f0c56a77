#include "lanista/plan/sharing/group.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

namespace lanista::sharing {
namespace {

/// Returns the bytes that must be copied to make input `slot` of all lanes contiguous. It is zero where all lanes read
/// one value, or read consecutive lanes of one operator.
double gathered_bytes(const LogicalGraph& graph, const PlannedOp& op, std::size_t slot, const LaneRefs& lane_refs) {
  const OutputRef first = graph.nodes[op.nodes.front()].inputs[slot];
  bool one_value = true;
  bool contiguous = true;
  double bytes = 0;
  for (std::size_t lane = 0; lane < op.nodes.size(); ++lane) {
    const OutputRef& wire = graph.nodes[op.nodes[lane]].inputs[slot];
    one_value = one_value && wire == first;
    const LaneRef& source = lane_refs.at(wire.node);
    const LaneRef& base = lane_refs.at(first.node);
    contiguous = contiguous && wire.slot == first.slot && source.op == base.op && source.lane == base.lane + lane;
    bytes += static_cast<double>(graph.nodes[wire.node].output_bytes[wire.slot]);
  }
  return one_value || contiguous ? 0 : bytes;
}

void assign_lane_refs(const PlannedOp& op, std::size_t number, LaneRefs& lane_refs) {
  for (std::size_t lane = 0; lane < op.nodes.size(); ++lane) lane_refs[op.nodes[lane]] = {number, lane};
}

}  // namespace

double op_us(const LogicalGraph& graph, const plan::Costs& costs, const PlannedOp& op, const LaneRefs& lane_refs) {
  std::vector<const OperatorWork*> lanes;
  lanes.reserve(op.nodes.size());
  for (const std::size_t v : op.nodes) lanes.push_back(&graph.nodes[v].work);
  double us = op_us(costs, lanes);
  const OperatorWork& work = *lanes.front();
  for (std::size_t slot = 0; slot < graph.nodes[op.nodes.front()].inputs.size(); ++slot) {
    const double bytes = gathered_bytes(graph, op, slot, lane_refs);
    // Each byte is read once and written once. The gradients are copied back.
    us += 2 * (bytes * (work.input_grad ? 2 : 1)) / (1e3 * costs.prices.gb_per_second);
  }
  return us;
}

double step_us(const LogicalGraph& graph, const plan::Costs& costs, std::span<const PlannedOp> ops) {
  double us = 0;
  LaneRefs lane_refs;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    us += op_us(graph, costs, ops[i], lane_refs);
    assign_lane_refs(ops[i], i, lane_refs);
  }
  return us;
}

std::vector<std::size_t> owners_in(const LogicalNode& node, std::span<const std::size_t> members_ascending) {
  std::vector<std::size_t> owners;
  for (const Owner& owner : node.owners) {
    if (std::binary_search(members_ascending.begin(), members_ascending.end(), owner.member)) {
      owners.push_back(owner.member);
    }
  }
  return owners;
}

FusedGroup assemble(const LogicalGraph& graph, const plan::Costs& costs, const MemoryModel& memory,
                    PlannedProgram program) {
  FusedGroup group;
  std::set<std::size_t> prefix;
  for (const std::size_t member : program.members) {
    for (const std::size_t v : graph.nodes_of_member[member]) {
      if (graph.nodes[v].prefix) prefix.insert(v);
    }
  }
  for (const std::size_t v : prefix) group.ops.push_back({{v}});
  const std::size_t begin = group.ops.size();
  for (const std::size_t member : program.members) {
    const std::vector<std::size_t> part = graph.trained_part(member);
    group.ops.resize(begin + part.size());
    for (std::size_t i = 0; i < part.size(); ++i) group.ops[begin + i].nodes.push_back(part[i]);
  }
  group.us = step_us(graph, costs, group.ops);
  group.bytes = memory.bytes(graph, program);
  group.program = std::move(program);
  return group;
}

std::string us_text(double us) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f us", us);
  return text;
}

GroupForm FusedGroup::form() const { return program.members.size() > 1 ? GroupForm::kFused : GroupForm::kSingle; }

std::vector<std::size_t> FusedGroup::members() const {
  std::vector<std::size_t> all = program.members;
  std::sort(all.begin(), all.end());
  return all;
}

double FusionPlan::us() const {
  double sum = 0;
  for (const FusedGroup& group : groups) sum += group.us;
  return sum;
}

}  // namespace lanista::sharing
