#include "lanista/fuse/plan.h"

#include <algorithm>
#include <utility>

#include "lanista/fuse/group.h"
#include "lanista/fuse/verify.h"

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

Result<Plan> make_plan(std::vector<Member> members, const graph::OpTable& ops, const CostModel& cost,
                       const PlanOptions& options) {
  const std::vector<std::unique_ptr<Pass>> passes = standard_passes();
  LANISTA_TRY(check_names(options.off, passes));

  Plan plan;
  LANISTA_ASSIGN(plan.graph, unite(std::move(members), ops));
  MemoryModel memory(ops, options.limits);
  const Context context{ops, cost, options.limits, memory};
  for (std::size_t m = 0; m < plan.graph.members.size(); ++m) {
    LANISTA_TRY(memory.learn(plan.graph, m));
    plan.groups.push_back(assemble(plan.graph, context, {LaneProgram{{m}, true}}));
  }
  plan.alone_us = plan.us();
  LANISTA_TRY(verify(plan, ops, "unite"));

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

}  // namespace lanista::fuse
