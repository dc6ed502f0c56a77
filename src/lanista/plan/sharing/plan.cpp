#include "lanista/plan/sharing/plan.h"

#include <algorithm>
#include <utility>

#include "lanista/plan/sharing/group.h"
#include "lanista/plan/sharing/structure.h"
#include "lanista/plan/sharing/verify.h"

namespace lanista::fuse {
namespace {

Result<void> check_names(const std::vector<std::string>& off, const std::vector<std::unique_ptr<Pass>>& passes) {
  for (const std::string& name : off) {
    if (std::any_of(passes.begin(), passes.end(), [&](const auto& pass) { return pass->name() == name; })) continue;
    std::string known;
    for (const auto& pass : passes) {
      if (known.find(pass->name()) == std::string::npos) known.append(" ").append(pass->name());
    }
    return Error{Code::kNotFound, "no pass is called '" + name + "'; there are" + known, ""};
  }
  return {};
}

/// Every member as a group of its own.
Result<void> start_alone(FusionPlan& plan, std::vector<FusionMember> members, const graph::OpTable& ops,
                         const PassContext& context) {
  LANISTA_ASSIGN(plan.graph, unite(std::move(members), ops));
  for (std::size_t m = 0; m < plan.graph.members.size(); ++m) {
    LANISTA_TRY(context.memory.add_member(plan.graph, m));
    plan.groups.push_back(assemble(plan.graph, context, {PlannedProgram{{m}, true}}));
  }
  plan.alone_us = plan.us();
  return verify(plan, ops, "unite");
}

Result<void> check_partition(std::span<const std::vector<std::size_t>> programs, std::size_t members) {
  std::vector<int> places(members, 0);
  for (const auto& program : programs) {
    for (const std::size_t member : program) {
      if (member < members) ++places[member];
    }
    if (program.empty()) return Error{Code::kInvalidArgument, "a program has no lanes", ""};
  }
  const auto wrong = std::find_if(places.begin(), places.end(), [](int count) { return count != 1; });
  if (wrong == places.end()) return {};
  return Error{Code::kInvalidArgument,
               "member " + std::to_string(wrong - places.begin()) + " has " + std::to_string(*wrong) +
                   " places in the programs instead of one",
               ""};
}

}  // namespace

std::vector<std::unique_ptr<Pass>> standard_passes() {
  std::vector<std::unique_ptr<Pass>> passes;
  passes.push_back(prefix_pass());
  passes.push_back(fuse_pass());
  passes.push_back(weigh_pass());  // before packing, so that packs are made of what is good by itself
  passes.push_back(pack_pass());
  passes.push_back(fan_out_pass());
  passes.push_back(batch_pass());
  passes.push_back(weigh_pass());
  passes.push_back(gather_pass());
  passes.push_back(fan_out_pass());
  passes.push_back(weigh_pass());
  passes.push_back(materialize_pass());
  return passes;
}

Result<FusionPlan> make_plan(std::vector<FusionMember> members, const graph::OpTable& ops, const CostModel& cost,
                             const PlanOptions& options) {
  const std::vector<std::unique_ptr<Pass>> passes = standard_passes();
  LANISTA_TRY(check_names(options.off, passes));

  FusionPlan plan;
  MemoryModel memory(ops, options.limits);
  const PassContext context{ops, cost, options.limits, memory};
  LANISTA_TRY(start_alone(plan, std::move(members), ops, context));

  for (const auto& pass : passes) {
    if (std::find(options.off.begin(), options.off.end(), pass->name()) != options.off.end()) continue;
    const double start = options.clock ? options.clock() : 0;
    LANISTA_ASSIGN(const std::size_t changes, pass->run(plan, context));
    const double end = options.clock ? options.clock() : 0;
    plan.reports.push_back({std::string(pass->name()), changes, end - start});
    LANISTA_TRY(verify(plan, ops, pass->name()));
  }
  return plan;
}

Result<FusionPlan> plan_of(std::vector<FusionMember> members, std::span<const std::vector<std::size_t>> programs,
                           const graph::OpTable& ops, const CostModel& cost, const Limits& limits) {
  LANISTA_TRY(check_partition(programs, members.size()));
  FusionPlan plan;
  MemoryModel memory(ops, limits);
  const PassContext context{ops, cost, limits, memory};
  LANISTA_TRY(start_alone(plan, std::move(members), ops, context));
  LANISTA_ASSIGN(const std::size_t saved, prefix_pass()->run(plan, context));
  plan.reports.push_back({"prefix", saved, 0});

  std::vector<FusedGroup> alone = std::move(plan.groups);
  plan.groups.clear();
  for (const auto& program : programs) {
    if (program.size() == 1) {
      plan.groups.push_back(std::move(alone[program.front()]));
      continue;
    }
    PlannedProgram lanes{program, true};
    for (const std::size_t member : program) lanes.same_ids &= same_ids(plan.graph, program.front(), member);
    plan.groups.push_back(assemble(plan.graph, context, {std::move(lanes)}));
    for (const std::size_t member : program) plan.groups.back().parts.push_back(std::move(alone[member]));
  }
  LANISTA_TRY(verify(plan, ops, "schedule"));
  return plan;
}

}  // namespace lanista::fuse
