#include "lanista/plan/sharing/plan.h"

#include <algorithm>
#include <utility>

#include "lanista/plan/sharing/group.h"
#include "lanista/plan/sharing/structure.h"
#include "lanista/plan/sharing/verify.h"

namespace lanista::sharing {
namespace {

/// Returns an error unless each of the `members` numbers is in exactly one program.
Result<void> check_partition(std::span<const std::vector<std::size_t>> programs, std::size_t members) {
  std::vector<int> lanes(members, 0);
  for (const auto& program : programs) {
    for (const std::size_t member : program) {
      if (member < members) ++lanes[member];
    }
    if (program.empty()) return Error{Code::kInvalidArgument, "a program has no lanes", ""};
  }
  const auto wrong = std::find_if(lanes.begin(), lanes.end(), [](int count) { return count != 1; });
  if (wrong == lanes.end()) return {};
  return Error{Code::kInvalidArgument,
               "member " + std::to_string(wrong - lanes.begin()) + " has " + std::to_string(*wrong) +
                   " lanes in the programs; each member must have one",
               ""};
}

}  // namespace

Result<FusionPlan> plan_of(std::vector<FusionMember> members, std::span<const std::vector<std::size_t>> programs,
                           const graph::OpTable& ops, const plan::Costs& costs) {
  LANISTA_TRY(check_partition(programs, members.size()));
  FusionPlan plan;
  MemoryModel memory(ops);
  LANISTA_ASSIGN(plan.graph, unite(std::move(members), ops));
  const std::size_t num_members = plan.graph.members.size();
  const auto single = [&](std::size_t m) { return assemble(plan.graph, costs, memory, PlannedProgram{{m}, true}); };
  for (std::size_t m = 0; m < num_members; ++m) {
    LANISTA_TRY(memory.add_member(plan.graph, m));
    plan.alone_us += single(m).us;
  }

  plan.nodes_saved = merge_equal(plan.graph);
  for (const auto& program : programs) {
    if (program.size() == 1) {
      plan.groups.push_back(single(program.front()));
      continue;
    }
    PlannedProgram lanes{program, true};
    for (const std::size_t member : program) lanes.same_ids &= same_ids(plan.graph, program.front(), member);
    plan.groups.push_back(assemble(plan.graph, costs, memory, std::move(lanes)));
    for (const std::size_t member : program) plan.groups.back().parts.push_back(single(member));
  }
  LANISTA_TRY(verify(plan, ops));
  return plan;
}

}  // namespace lanista::sharing
