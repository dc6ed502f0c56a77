#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "lanista/plan/sharing/pass.h"

// What passes do with groups.
namespace lanista::fuse {

/// A group of these programs with one operator for each logical node of the prefix and one for each node of a
/// program, over all its lanes; predicted time and memory filled in.
FusedGroup assemble(const LogicalGraph& graph, const PassContext& context, std::vector<PlannedProgram> programs);

/// Owners of a logical node among the group's members.
std::vector<std::size_t> owners_in(const LogicalNode& node, std::span<const std::size_t> members_ascending);

/// Where a logical node is computed: number of the operator, and of the lane in it.
struct LaneRef {
  std::size_t op = 0;
  std::size_t lane = 0;
};
using ClassSlots = std::map<std::size_t, LaneRef>;

/// Predicted microseconds of one operator, with the copies that bring its lanes' inputs side by side; `lane_refs` must
/// hold what it reads.
double op_us(const LogicalGraph& graph, const CostModel& cost, const PlannedOp& op, const ClassSlots& lane_refs);

/// Of all operators, in their order.
double step_us(const LogicalGraph& graph, const CostModel& cost, std::span<const PlannedOp> ops);

/// "12.5 us"
std::string us_text(double us);

/// Calls `change(group)` for the groups and, before, for what they were joined from.
template <class Change>
void for_each_group(std::vector<FusedGroup>& groups, const Change& change) {
  for (FusedGroup& group : groups) {
    for_each_group(group.parts, change);
    change(group);
  }
}

}  // namespace lanista::fuse
