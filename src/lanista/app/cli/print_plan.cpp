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
#include "lanista/engine/local/plan_timing.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/exec/program/cpu_speed.h"
#include "lanista/exec/program/program.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/op.h"

namespace lanista::cli {
namespace {

constexpr double kSeconds = 1;                  // for the measurement of all programs of a plan
constexpr std::int64_t kMaxSimulated = 1024;    // trials
constexpr std::int64_t kLaneBytes = 256 << 10;  // about the memory in which a small model trains

engine::PlanRequest request_of(const PlanVerbRequest& verb_request, const study::StudyConfig& config) {
  const program::CpuSpeed speed = program::measure_cpu_speed();
  return {.trials = verb_request.trials,
          .machine = runtime::machine_of(make_worker_config(config, {verb_request.workers, verb_request.lanes, {}})),
          .prices = {.calls = {.gflops = speed.peak_gflops, .gb_per_second = speed.level_of(kLaneBytes).gb_per_second},
                     .memory_gb_per_second = speed.memory.back().gb_per_second},
          .costs = {},
          .measured_on =
              {.work = "", .lanes = 1, .cpu = program::cpu_model(), .threads = 1, .version = std::string(kVersion)},
          .known = verb_request.known,
          .devices = verb_request.timed_devices.devices,
          .speeds = verb_request.timed_devices.speeds};
}

/// The measured time of each node of a trial's model, as rows of a cost table.
Result<void> measure(const sharing::FusionPlan& plan, std::size_t member, double seconds, graph::CostKey key,
                     graph::CostTable& table) {
  const sharing::FusionMember& like = plan.graph.members[member];
  const auto ops = autodiff::training_ops(graph::builtin_ops());
  LANISTA_ASSIGN(const auto train, autodiff::derive_training_step(like.model, like.recipe.step, ops));
  LANISTA_ASSIGN(const auto infer, autodiff::derive_inference_step(like.model, ops));
  LANISTA_ASSIGN(auto program,
                 program::Program::compile(
                     train, infer, {.max_batch = like.recipe.batch_size, .precision = stored(like.recipe.precision)}));
  LANISTA_TRY(program.begin(0, 1));
  kernels::set_flush_to_zero();  // as in workers
  const runtime::SyntheticBatch batch(train, like.recipe.batch_size);
  const runtime::PlanTimes times = runtime::time_plan(program, batch.view(), seconds);

  // The time of a fusion counts for its first node; the other nodes have no time.
  std::map<graph::NodeId, double> us;
  const auto lines = program.plan();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].section != "train" || !lines[i].node) continue;
    const auto origin = train.origin.find(*lines[i].node);
    if (origin != train.origin.end()) us[origin->second] += times.line_us[i];
  }
  for (const std::size_t v : plan.graph.nodes_of_member[member]) {
    const sharing::LogicalNode& node = plan.graph.nodes[v];
    for (const sharing::Owner& owner : node.owners) {
      if (owner.member != member || !owner.node) continue;
      key.work = sharing::work_text(node.work);
      table.put(key, {.microseconds = us[*owner.node],
                      .flops = node.work.flops,
                      .bytes = node.work.in_bytes + node.work.other_bytes,
                      .samples = times.samples});
    }
  }
  return {};
}

/// Times one program for each structure.
Result<graph::CostTable> measured_costs(const sharing::FusionPlan& plan, const graph::CostKey& machine) {
  std::vector<std::size_t> members;
  for (const sharing::FusedGroup& group : plan.groups) {
    members.push_back(group.program.members.front());
  }
  graph::CostTable table;
  for (const std::size_t member : members) {
    LANISTA_TRY(measure(plan, member, kSeconds / static_cast<double>(members.size()), machine, table));
  }
  return table;
}

/// The plan with times predicted from the machine's speed, or, with --measure, a second plan with measured times.
Result<engine::StudyPlan> make_study_plan(const PlanVerbRequest& verb_request, const study::StudyConfig& config,
                                          const data::DataSpec& data,
                                          const std::shared_ptr<const mutate::ModelSpace>& models) {
  engine::PlanRequest request = request_of(verb_request, config);
  LANISTA_ASSIGN(auto plan, engine::plan_study(config, data, models, request));
  if (!verb_request.measure) return plan;
  LANISTA_ASSIGN(request.costs, measured_costs(plan.predicted, request.measured_on));
  return engine::plan_study(config, data, models, request);
}

/// The simulated times of a plan's trials on this machine, with one trial a worker, as executors run it.
Result<engine::Forecast> forecast_on_this_machine(const engine::StudyPlan& plan, const study::StudyConfig& config,
                                                  engine::ExtraStepsCount extra_steps) {
  engine::ClusterFile machine;
  machine.cluster.workers = plan.machine.workers;
  machine.cluster.shares = machine.cluster.widest = 1;
  machine.cluster.memory = 1e18;  // the plan respects the memory limit already
  return engine::forecast_plan(plan, config.strategy.slots, machine, extra_steps);
}

}  // namespace

int print_plan(const PlanVerbRequest& verb_request, const study::StudyConfig& config, const data::DataSpec& data,
               const std::shared_ptr<const mutate::ModelSpace>& models) {
  if (verb_request.pipeline) return pipeline_of_study(*verb_request.pipeline, config, data, *models);
  if (verb_request.simulated_cluster) {
    PlanVerbRequest with_trials = verb_request;
    if (!with_trials.trials)
      with_trials.trials = std::min<std::int64_t>(config.budget.trials.value_or(config.strategy.slots), kMaxSimulated);
    return print_forecast(
        engine::forecast_study(config, data, models, request_of(with_trials, config), *verb_request.simulated_cluster),
        verb_request.json);
  }
  const auto plan = make_study_plan(verb_request, config, data, models);
  if (!plan) return print_error(plan.error());
  const auto forecast = forecast_on_this_machine(*plan, config, engine::ExtraStepsCount::kExpectedCount);
  if (!forecast) return print_error(forecast.error());
  double most = 0;
  if (std::ranges::any_of(plan->extra, [](const study::ExtraSteps& extra) { return extra.most > 0; })) {
    const auto longest = forecast_on_this_machine(*plan, config, engine::ExtraStepsCount::kMaximum);
    if (!longest) return print_error(longest.error());
    most = longest->course.makespan;
  }
  if (verb_request.json) {
    auto out = engine::plan_json(*plan, verb_request.explain);
    out["seconds"] = forecast->course.makespan;
    if (most > 0) out["seconds_most"] = most;
    out["bound_seconds"] = forecast->bounds.best();
    std::cout << json_line(out);
  } else {
    std::cout << printable_lines(engine::plan_text(*plan, verb_request.explain));
    // For CPU kernels only: devices have measured their trials already.
    if (plan->devices.empty()) std::cout << printable_lines(engine::forecast_time_text(*forecast, most));
    if (!config.implied.empty()) std::cout << "implied      these rules are ignored, because no results exist yet\n";
  }
  return kDone;
}

}  // namespace lanista::cli
