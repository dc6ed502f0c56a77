#include "lanista/app/cli/print_plan.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <map>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/show_plan.h"
#include "lanista/app/cli/simulate.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/engine/forecast/forecast.h"
#include "lanista/engine/forecast/simulated_study.h"
#include "lanista/engine/forecast/study_plan.h"
#include "lanista/engine/local/plan_timing.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/exec/program/cpu_speed.h"
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
          .costs = {.table = {},
                    .machine = measured_here(),
                    .prices = {.gflops = speed.peak_gflops,
                               .gb_per_second = speed.level_of(kLaneBytes).gb_per_second,
                               .load_gb_per_second = speed.memory.back().gb_per_second,
                               .store_gb_per_second = speed.memory.back().gb_per_second}},
          .known = verb_request.known,
          .devices = verb_request.timed_devices.devices,
          .speeds = verb_request.timed_devices.speeds};
}

/// The measured time of each node of a trial's model, as rows of a cost table.
Result<void> measure(const sharing::FusionPlan& plan, std::size_t member, double seconds, plan::CostKey key,
                     plan::CostTable& table) {
  const sharing::FusionMember& like = plan.graph.members[member];
  LANISTA_ASSIGN(
      const runtime::TimedProgram timed,
      runtime::timed_program(like.model, graph::builtin_ops(), like.recipe.step,
                             {.max_batch = like.recipe.batch_size, .precision = stored(like.recipe.precision)},
                             like.recipe.batch_size, seconds));

  // The time of a fusion counts for its first node; the other nodes have no time.
  std::map<graph::NodeId, double> us;
  for (std::size_t i = 0; i < timed.lines.size(); ++i) {
    if (timed.lines[i].section != "train" || !timed.lines[i].node) continue;
    const auto origin = timed.train.origin.find(*timed.lines[i].node);
    if (origin != timed.train.origin.end()) us[origin->second] += timed.times.line_us[i];
  }
  for (const std::size_t v : plan.graph.nodes_of_member[member]) {
    const sharing::LogicalNode& node = plan.graph.nodes[v];
    for (const sharing::Owner& owner : node.owners) {
      if (owner.member != member || !owner.node) continue;
      key.work = sharing::work_text(node.work);
      table.put(key, {.microseconds = us[*owner.node],
                      .flops = node.work.flops,
                      .bytes = node.work.in_bytes + node.work.other_bytes,
                      .samples = timed.times.samples});
    }
  }
  return {};
}

/// Times one program for each structure.
Result<plan::CostTable> measured_costs(const sharing::FusionPlan& plan, const plan::CostKey& machine) {
  std::vector<std::size_t> members;
  for (const sharing::FusedGroup& group : plan.groups) {
    members.push_back(group.program.members.front());
  }
  plan::CostTable table;
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
  LANISTA_ASSIGN(request.costs.table, measured_costs(plan.predicted, request.costs.machine));
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

/// A note if no trial is predicted to end in the minutes of the budget. Empty: one is.
std::string short_minutes_text(const study::StudyConfig& config, const engine::Forecast& forecast) {
  if (!config.budget.guard_minutes || forecast.course.ends.empty()) return "";
  const double first = forecast.course.ends.front().ended / 60;
  if (!(first > *config.budget.guard_minutes)) return "";
  const auto text = [](double minutes) {
    std::array<char, 32> out{};
    std::snprintf(out.data(), out.size(), "%.3g", minutes);
    return std::string(out.data());
  };
  return "budget.guard_minutes is " + text(*config.budget.guard_minutes) +
         ", and the first trial is predicted to end " + "after " + text(first) +
         " minutes; raise it (--minutes), or lower train.epochs";
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
  const auto last_rung = engine::forecast_last_rung(config, data, models);
  if (!last_rung) return print_error(last_rung.error());
  const auto forecast = forecast_on_this_machine(*plan, config, engine::ExtraStepsCount::kExpectedCount);
  if (!forecast) return print_error(forecast.error());
  if (const std::string text = short_minutes_text(config, *forecast); !text.empty()) print_notes({text});
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
    if (*last_rung) {
      out["last_rung"] = {
          {"trials", (*last_rung)->to_end}, {"of", (*last_rung)->trials}, {"epoch", (*last_rung)->epochs}};
    }
    std::cout << json_line(out);
  } else {
    std::cout << printable_lines(engine::plan_text(*plan, verb_request.explain));
    if (*last_rung) {
      std::cout << "last rung    " << (*last_rung)->to_end << " of " << (*last_rung)->trials
                << " trials train to epoch " << (*last_rung)->epochs << ", in a simulation of the rungs\n";
    }
    // For CPU kernels only: devices have measured their trials already.
    if (plan->devices.empty()) std::cout << printable_lines(engine::forecast_time_text(*forecast, most));
    if (!config.implied.empty()) std::cout << "implied      these rules are ignored, because no results exist yet\n";
  }
  return kDone;
}

}  // namespace lanista::cli
