#pragma once

#include <vector>

#include "lanista/plan/sharing/group.h"

namespace lanista::fuse {

/// The group's operators with alike ones of different trials merged where that saves time, in an order of execution.
///
/// Merging nodes of several acyclic graphs is acyclic if all merges respect one order, so operators are taken from an
/// agenda (as in dynamic auto-batching, Neubig et al., 2017): of those whose inputs are done, first whatever can find
/// no partner any more; then the kind with the greatest predicted saving, all of its ready operators at once, at most
/// one of each trial (those with the same node id first, then those with the same history above them); ties go to the
/// smaller mean depth. Operators of another kind wait. O(operators * kinds).
/// What could be merged but would not save time is told in `declined`, once for each kind and trials.
std::vector<PlannedOp> merge_operators(const LogicalGraph& graph, const CostModel& cost, const FusedGroup& group,
                                       std::vector<Declined>& declined);

}  // namespace lanista::fuse
