#include "lanista/app/cli/print_plan.h"

#include <algorithm>
#include <iostream>
#include <map>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/simulate.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/app/cli/version.h"
#include "lanista/engine/forecast/forecast.h"
#include "lanista/engine/forecast/simulated_study.h"
#include "lanista/engine/forecast/study_plan.h"
#include "lanista/model/graph/op.h"
#include "lanista/exec/program/machine_speed.h"
#include "lanista/exec/program/program.h"
#include "lanista/engine/local/plan_timing.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::cli {
namespace {

constexpr double kSeconds = 1;                  // to measure all programs of a plan
constexpr std::int64_t kMostSimulated = 1024;   // trials
constexpr std::int64_t kLaneBytes = 256 << 10;  // about what a small model trains in

engine::PlanRequest request_of(const PlanAsked& asked, const study::StudyConfig& config) {
  const nn::MachineSpeed speed = nn::machine_speed();
  return {
      .trials = asked.trials,
      .machine = runtime::machine_of(worker_brief(config, {asked.workers, asked.lanes, {}})),
      .prices = {.calls = {.gflops = speed.peak_gflops, .gb_per_second = speed.level_of(kLaneBytes).gb_per_second},
                 .memory_gb_per_second = speed.memory.back().gb_per_second},
      .costs = {},
      .measured_on = {.work = "", .lanes = 1, .cpu = nn::cpu_model(), .threads = 1, .version = std::string(kVersion)},
      .known = asked.known,
      .devices = asked.on.devices,
      .speeds = asked.on.speeds};
}

/// What a trial's program spends on every node of its model, as rows of a table.
Result<void> measure(const fuse::Plan& plan, std::size_t member, double seconds, graph::CostKey key,
                     graph::CostTable& table) {
  const fuse::Member& like = plan.graph.members[member];
  const auto ops = step::training_ops(graph::builtin_ops());
  LANISTA_ASSIGN(const auto train, step::derive_training_step(like.model, like.recipe.step, ops));
  LANISTA_ASSIGN(const auto infer, step::derive_inference_step(like.model, ops));
  LANISTA_ASSIGN(auto program,
                 nn::Program::compile(
                     train, infer, {.max_batch = like.recipe.batch_size, .precision = stored(like.recipe.precision)}));
  LANISTA_TRY(program.begin(0, 1));
  kernels::set_flush_to_zero();  // as workers do
  const runtime::MadeUpBatch batch(train, like.recipe.batch_size);
  const runtime::PlanTimes times = runtime::time_plan(program, batch.view(), seconds);

  // A fusion counts for the node it is told of, so the others it serves take nothing.
  std::map<graph::NodeId, double> us;
  const auto lines = program.plan();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].section != "train" || !lines[i].node) continue;
    const auto origin = train.origin.find(*lines[i].node);
    if (origin != train.origin.end()) us[origin->second] += times.line_us[i];
  }
  for (const std::size_t v : plan.graph.of_member[member]) {
    const fuse::LogicalNode& node = plan.graph.nodes[v];
    for (const fuse::Owner& owner : node.owners) {
      if (owner.member != member || !owner.node) continue;
      key.work = fuse::work_text(node.work);
      table.put(key, {.microseconds = us[*owner.node],
                      .flops = node.work.flops,
                      .bytes = node.work.in_bytes + node.work.other_bytes,
                      .samples = times.samples});
    }
  }
  return {};
}

/// One program for each structure is timed.
Result<graph::CostTable> measured_costs(const fuse::Plan& plan, const graph::CostKey& machine) {
  std::vector<std::size_t> members;
  for (const fuse::Group& group : plan.groups) {
    for (const fuse::PlannedProgram& program : group.programs) members.push_back(program.members.front());
  }
  graph::CostTable table;
  for (const std::size_t member : members) {
    LANISTA_TRY(measure(plan, member, kSeconds / static_cast<double>(members.size()), machine, table));
  }
  return table;
}

/// The plan by the machine's rates, or, if it is to be measured, made anew with what its own programs take.
Result<engine::StudyPlan> made_plan(const PlanAsked& asked, const study::StudyConfig& config,
                                    const data::DataSpec& data,
                                    const std::shared_ptr<const mutate::ModelSpace>& models) {
  engine::PlanRequest request = request_of(asked, config);
  LANISTA_ASSIGN(auto plan, engine::plan_study(config, data, models, request));
  if (!asked.measure) return plan;
  LANISTA_ASSIGN(request.costs, measured_costs(plan.predicted, request.measured_on));
  return engine::plan_study(config, data, models, request);
}

/// What the trials of a plan take on this machine, by one trial a worker, which is what executors make of it.
Result<engine::Forecast> here(const engine::StudyPlan& plan, const study::StudyConfig& config, engine::Beside beside) {
  engine::ClusterFile machine;
  machine.cluster.workers = plan.machine.workers;
  machine.cluster.shares = machine.cluster.widest = 1;
  machine.cluster.memory = 1e18;  // the plan has seen to it
  return engine::forecast_plan(plan, config.strategy.slots, machine, beside);
}

}  // namespace

int print_plan(const PlanAsked& asked, const study::StudyConfig& config, const data::DataSpec& data,
               const std::shared_ptr<const mutate::ModelSpace>& models) {
  if (asked.pipeline) return pipeline_of_study(*asked.pipeline, config, data, *models);
  if (asked.simulated_on) {
    PlanAsked wanted = asked;
    if (!wanted.trials)
      wanted.trials = std::min<std::int64_t>(config.budget.trials.value_or(config.strategy.slots), kMostSimulated);
    return print_forecast(engine::forecast_study(config, data, models, request_of(wanted, config), *asked.simulated_on),
                          asked.json);
  }
  const auto plan = made_plan(asked, config, data, models);
  if (!plan) return report(plan.error());
  const auto forecast = here(*plan, config, engine::Beside::kExpected);
  if (!forecast) return report(forecast.error());
  double most = 0;
  if (std::ranges::any_of(plan->extra, [](const study::ExtraSteps& extra) { return extra.most > 0; })) {
    const auto longest = here(*plan, config, engine::Beside::kMost);
    if (!longest) return report(longest.error());
    most = longest->course.makespan;
  }
  if (asked.json) {
    auto out = engine::plan_json(*plan, asked.explain);
    out["seconds"] = forecast->course.makespan;
    if (most > 0) out["seconds_most"] = most;
    out["bound_seconds"] = forecast->bounds.best();
    std::cout << json_line(out);
  } else {
    std::cout << printable_lines(engine::plan_text(*plan, asked.explain));
    // Of own kernels; devices have said what their trials take.
    if (plan->devices.empty()) std::cout << printable_lines(engine::time_text(*forecast, most));
    if (!config.implied.empty()) std::cout << "implied      rules are not counted, since there are no results yet\n";
  }
  return kDone;
}

}  // namespace lanista::cli
