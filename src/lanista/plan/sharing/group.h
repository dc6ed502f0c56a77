#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "lanista/plan/sharing/memory.h"
#include "lanista/plan/sharing/plan.h"

// Operators, time and memory of one group.
namespace lanista::sharing {

/// Returns the group of one program, with its operators, the predicted microseconds of one step, and the predicted
/// bytes of memory. FusedGroup::parts, the same trials as groups of one, is left empty.
///
/// The operators are those of the shared prefix, one lane each, and then one for each trained node, with one lane for
/// each member. `memory` must know every member (MemoryModel::add_member).
FusedGroup assemble(const LogicalGraph& graph, const plan::Costs& costs, const MemoryModel& memory,
                    PlannedProgram program);

/// Returns the indices of the members that own the node, restricted to `members_ascending`, in ascending order.
std::vector<std::size_t> owners_in(const LogicalNode& node, std::span<const std::size_t> members_ascending);

/// The operator of a group, and the lane of that operator, which computes a logical node.
struct LaneRef {
  std::size_t op = 0;    ///< Index in FusedGroup::ops.
  std::size_t lane = 0;  ///< Index of the lane in PlannedOp::nodes.
};
/// For each computed logical node (index in LogicalGraph::nodes): the operator of the group and the lane of that
/// operator which compute it.
using LaneRefs = std::map<std::size_t, LaneRef>;

/// Predicts the microseconds of one step of one operator, with the copies that make the inputs of its lanes contiguous.
///
/// `lane_refs` must contain every node that the operator reads.
double op_us(const LogicalGraph& graph, const plan::Costs& costs, const PlannedOp& op, const LaneRefs& lane_refs);

/// Predicts the microseconds of one step of all operators, which run one after the other in the given order, with the
/// copies of op_us.
double step_us(const LogicalGraph& graph, const plan::Costs& costs, std::span<const PlannedOp> ops);

/// Returns microseconds as text for people, with one decimal: "12.5 us".
std::string us_text(double us);

}  // namespace lanista::sharing
