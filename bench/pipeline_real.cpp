#include "bench/pipeline_real.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "bench/arms.h"
#include "bench/pass_replay.h"
#include "bench/random_plans.h"
#include "bench/rank_correlation.h"
#include "bench/staged_model.h"
#include "lanista/base/rng.h"
#include "lanista/exec/pipeline_parallel/pipeline_stages.h"
#include "lanista/plan/pipeline/schedule.h"
#include "lanista/plan/pipeline/simulate.h"

namespace lanista::bench {
namespace {

constexpr int kMaxTimedSteps = 20;  // most steps until one of them was timed

Error different_bits_error(const std::string& name) {
  return {Code::kInternal, name + ": the weights of a pipeline and of one thread differ", ""};
}

// True if two steps of the pipeline give the same state as two steps on one thread.
Result<bool> same_bits(const StagedModel& bench, program::Program& ours) {
  LANISTA_ASSIGN(program::Program single_thread, bench.derived.compile(kBatch / kMicroBatch, nullptr));
  ours.initialise(0, 1);
  for (int i = 0; i < 2; ++i) {
    step_of(single_thread, bench.samples.view());
    step_of(ours, bench.samples.view());
  }
  return single_thread.extract(0) == ours.extract(0);
}

// Prints the times that a step would have on free cores (PassReplay), for machines with other work.
Result<void> replayed(const StagedModel& bench, const runtime::ChosenPlan& chosen, const std::string& name, int repeats,
                      bool json, std::ostream& out) {
  LANISTA_ASSIGN(program::Stages stages,
                 runtime::executable_stages(chosen.plan, chosen.schedule, bench.problem, bench.planned.nodes));
  PassReplay replay(stages);
  stages.observer = &replay;
  LANISTA_ASSIGN(program::Program ours, bench.derived.compile(kBatch / kMicroBatch, &stages));
  LANISTA_ASSIGN(program::Program single_thread, bench.derived.compile(kBatch / kMicroBatch, nullptr));
  std::vector<double> of_one, of_two, gain;
  for (int i = -1; i < repeats; ++i) {
    const double begin = thread_cpu_seconds();
    step_of(single_thread, bench.samples.view());
    const double one = thread_cpu_seconds() - begin;
    step_of(ours, bench.samples.view());
    const double two = replay.seconds();
    if (i < 0) continue;  // the first step warms up
    of_one.push_back(1e6 * one);
    of_two.push_back(1e6 * two);
    gain.push_back(one / two);
  }
  print(summary("pipeline-real", name, "alone-core-time", "us", of_one), json, out);
  print(summary("pipeline-real", name, "replayed-core-time", "us", of_two), json, out);
  print(summary("pipeline-real", name, "gain-replayed", "", gain), json, out);
  return {};
}

// Prints the Gantt charts of a step, planned and measured, from the record that studies log.
Result<void> print_charts(const StagedModel& bench, const runtime::ChosenPlan& chosen, std::ostream& out) {
  LANISTA_ASSIGN(program::Program program, bench.program(chosen.plan, chosen.schedule));
  std::optional<program::StepTimes> times;
  for (int i = 0; i < kMaxTimedSteps && !times; ++i) {
    step_of(program, bench.samples.view());
    times = program.take_step_times();
  }
  const auto step = times ? runtime::timed_step_of(*times) : std::nullopt;
  if (step) out << pipeline::stages_text(*step) << pipeline::charts_text(*step);
  return {};
}

// Runs the case two-branches/2.
Result<void> two_branches(int repeats, bool json, std::ostream& out) {
  const std::string name = "two-branches/2";
  LANISTA_ASSIGN(StagedModel bench, StagedModel::make(branchy(1024, 2, 3, 1024, false), 1024, 3));
  LANISTA_ASSIGN(const auto chosen, runtime::chosen_plan(bench.problem, kMicroBatch));
  LANISTA_ASSIGN(program::Program ours, bench.program(chosen.plan, chosen.schedule));
  LANISTA_ASSIGN(const bool same, same_bits(bench, ours));
  if (!same) return different_bits_error(name);
  const std::vector<Arm> arms{bench.arm("alone", bench.single_thread), bench.arm("ours", ours)};
  const auto measured = run_rounds(arms, repeats);
  for (std::size_t a = 0; a < arms.size(); ++a)
    print(summary("pipeline-real", name, arms[a].name, "us", measured[a]), json, out);
  std::vector<double> gain, of_bound;
  for (std::size_t r = 0; r < measured[0].size(); ++r) {
    gain.push_back(measured[0][r] / measured[1][r]);
    of_bound.push_back(gain.back() / static_cast<double>(kRanks));
  }
  LANISTA_ASSIGN(const double predicted, bench.predicted(chosen));
  print({"pipeline-real", name, "simulated", "us", 1e6 * predicted, 0, 1}, json, out);
  print(summary("pipeline-real", name, "gain", "", gain), json, out);
  print(summary("pipeline-real", name, "gain-of-bound", "", of_bound), json, out);
  LANISTA_TRY(replayed(bench, chosen, name, repeats, json, out));
  if (!json) LANISTA_TRY(print_charts(bench, chosen, out));
  double shortest = 1e9;
  const auto times = pipeline::times_of(chosen.plan, bench.problem);
  for (const auto& stage : times) shortest = std::min(shortest, stage.forward + stage.backward());
  print({"pipeline-real", name, "shortest-stage", "us", 1e6 * shortest, 0, 1}, json, out);
  return {};
}

// The seconds of steps of a plan on free cores (PassReplay). A first step warms up.
Result<std::vector<double>> replays(const StagedModel& bench, const runtime::ChosenPlan& plan, int repeats) {
  LANISTA_ASSIGN(program::Stages stages,
                 runtime::executable_stages(plan.plan, plan.schedule, bench.problem, bench.planned.nodes));
  PassReplay replay(stages);
  stages.observer = &replay;
  LANISTA_ASSIGN(program::Program program, bench.derived.compile(kBatch / kMicroBatch, &stages));
  std::vector<double> seconds;
  for (int i = 0; i <= repeats; ++i) {
    step_of(program, bench.samples.view());
    const double step_seconds = replay.seconds();
    if (i > 0) seconds.push_back(step_seconds);
  }
  return seconds;
}

// A random plan with a schedule.
runtime::ChosenPlan random_plan(Rng& rng, const pipeline::Problem& problem, int i) {
  runtime::ChosenPlan one;
  // Every fifth plan has only one rank, so that there are bad plans too.
  one.plan = random_stage_plan(rng, problem, 2 + rng.below(5), {kMicroBatch}, i % 5 == 0 ? 1 : kRanks);
  if (i % 3 == 2) one.plan = pipeline::with_whole_batch_in_flight(one.plan);
  one.schedule = i % 3 == 0   ? pipeline::split_backward(one.plan, problem)
                 : i % 3 == 1 ? pipeline::kfkb(one.plan, problem)
                              : pipeline::gpipe(one.plan);
  return one;
}

// The seconds of all passes.
double all_passes(const std::vector<runtime::OperatorTimes>& passes) {
  double seconds = 0;
  for (const auto& each : passes) seconds += each.forward + each.input_grad + each.weight_grad;
  return seconds;
}

// Runs the case plans-30/2: simulated and measured times of random plans and of the planner's plan. Passes are timed in
// the same rounds as plans, so that the machine is in the same condition. Other work of the machine only adds time, so
// the fastest round is the best estimate.
Result<void> thirty_plans(int repeats, bool json, std::ostream& out) {
  const std::string name = "plans-30/2";
  LANISTA_ASSIGN(StagedModel bench, StagedModel::make(branchy(512, 3, 3, 640, false), 512, 3));
  Rng rng(5);
  std::vector<runtime::ChosenPlan> plans;
  LANISTA_ASSIGN(const auto chosen, runtime::chosen_plan(bench.problem, kMicroBatch));
  plans.push_back(chosen);
  for (int i = 1; i <= 30; ++i) plans.push_back(random_plan(rng, bench.problem, i));
  std::vector<program::Program> programs;
  std::vector<double> replayed;
  for (const auto& one : plans) {
    LANISTA_ASSIGN(program::Program program, bench.program(one.plan, one.schedule));
    programs.push_back(std::move(program));
    LANISTA_ASSIGN(const std::vector<double> seconds, replays(bench, one, repeats));
    replayed.push_back(1e6 * median(seconds));
  }
  std::vector<Arm> arms;
  for (std::size_t i = 0; i < programs.size(); ++i) arms.push_back(bench.arm(std::to_string(i), programs[i]));
  arms.push_back(bench.arm("alone", bench.single_thread));
  std::vector<std::vector<double>> measured(arms.size());
  std::vector<std::vector<runtime::OperatorTimes>> passes;
  for (int round = 0; round < repeats; ++round) {
    const auto values = run_rounds(arms, 1);
    for (std::size_t i = 0; i < arms.size(); ++i) measured[i].push_back(values[i][0]);
    LANISTA_ASSIGN(auto timed, bench.timed_passes(3));
    passes.push_back(std::move(timed));
  }
  std::ranges::sort(passes, {}, all_passes);
  const auto compare = [&](const std::string& with, const std::vector<double>& real,
                           const std::vector<runtime::OperatorTimes>& by, double step, bool whole) -> Result<void> {
    bench.set_pass_costs(by, 1e-6 * step);
    std::vector<double> predicted, off;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      LANISTA_ASSIGN(const double seconds, bench.predicted(plans[i]));
      predicted.push_back(1e6 * seconds);
      const double non_passes = whole ? 0 : 1e6 * bench.non_pass_seconds;  // replays have passes only
      off.push_back(std::abs(predicted[i] / (real[i] + non_passes) - 1));
    }
    const auto row = [&](const std::string& arm, double value) {
      print({"pipeline-real", name, arm + with, "", value, 0, repeats}, json, out);
    };
    row("spearman", rank_correlation(predicted, real));
    row("error", median(off));
    row("error-at-most", *std::ranges::max_element(off));
    row("chosen-over-best", real[0] / *std::ranges::min_element(real));
    return {};
  };
  std::vector<double> medians, least;
  for (const auto& each : measured) {
    medians.push_back(median(each));
    least.push_back(*std::ranges::min_element(each));
  }
  const double middle = medians.back(), best = least.back();
  medians.pop_back(), least.pop_back();
  const auto& middle_passes = passes[passes.size() / 2];
  LANISTA_TRY(compare("", medians, middle_passes, middle, true));
  LANISTA_TRY(compare("-least", least, passes.front(), best, true));
  return compare("-replayed", replayed, middle_passes, middle, false);
}

// A plan with half of the branches on each of two ranks. The join is on the second rank, after its branches.
Result<runtime::ChosenPlan> halves(const pipeline::Problem& problem, std::size_t branches) {
  const auto n = static_cast<std::uint32_t>(problem.model.operators.size());
  const auto each = static_cast<std::uint32_t>((n - 1) / branches);
  pipeline::PipelinePlan plan{problem.model.hash, problem.model.batch, {}};
  plan.stages.assign(3, {.operators = {}, .micro_batch = problem.model.batch, .devices = {1}, .successors = {}});
  plan.stages[0].devices = {0};
  for (std::uint32_t i = 0; i < n; ++i)
    plan.stages[i + 1 == n ? 2 : i < each * branches / 2 ? 0 : 1].operators.push_back(i);
  runtime::ChosenPlan one;
  LANISTA_ASSIGN(one.plan, pipeline::arranged(std::move(plan), problem.model));
  one.schedule = pipeline::split_backward(one.plan, problem);
  LANISTA_ASSIGN(const auto simulation, pipeline::simulate(one.schedule, one.plan, problem, false));
  one.seconds = simulation.seconds;
  return one;
}

// Runs a case population-8: eight trials of one small model. As branches of one graph, their logits are added. This
// graph has the same operators, but one loss instead of eight, so only times can be compared.
Result<void> population(const std::string& name, std::int64_t inputs, std::int64_t width, std::int64_t batch,
                        int repeats, bool json, std::ostream& out) {
  constexpr std::int64_t kTrials = 8;
  LANISTA_ASSIGN(const DerivedModel one, DerivedModel::make(branchy(inputs, 1, 2, width, true), batch));
  LANISTA_ASSIGN(const DerivedModel all, DerivedModel::make(branchy(inputs, kTrials, 2, width, true), batch));
  const Samples samples(batch, inputs);
  std::vector<program::Program> single;
  for (std::int64_t i = 0; i < kTrials; ++i) {
    LANISTA_ASSIGN(program::Program program, one.compile(1, nullptr));
    single.push_back(std::move(program));
  }
  LANISTA_ASSIGN(program::Program fused, one.compile(1, nullptr, kTrials, kRanks));
  LANISTA_ASSIGN(const auto planned, runtime::planned_step(all.train, all.ops, batch, 4));
  const pipeline::Problem problem{planned.model, runtime::single_devices(kRanks, kTransferSeconds)};
  LANISTA_ASSIGN(const auto chosen, halves(problem, kTrials));
  LANISTA_ASSIGN(const auto plan, runtime::chosen_plan(problem, batch));
  LANISTA_ASSIGN(const auto stages, runtime::executable_stages(chosen.plan, chosen.schedule, problem, planned.nodes));
  LANISTA_ASSIGN(program::Program branches, all.compile(1, &stages));
  const auto run_trials = [&](std::size_t begin, std::size_t end) {
    return [&, begin, end] {
      for (std::size_t i = begin; i < end; ++i) step_of(single[i], samples.view());
    };
  };
  const double trials = kTrials;
  const std::vector<Arm> arms{
      timed("single", {{run_trials(0, kTrials), trials}}),
      timed("packed", {{run_trials(0, kTrials / 2), trials / 2}, {run_trials(kTrials / 2, kTrials), trials / 2}}),
      timed("fused", {{[&] { step_of(fused, samples.view()); }, trials}}),
      timed("branches", {{[&] { step_of(branches, samples.view()); }, trials}})};
  for (const BenchRow& row : run_interleaved("pipeline-real", name, "us", arms, repeats)) print(row, json, out);
  print({"pipeline-real", name, "planner-over-halves", "", plan.seconds / chosen.seconds, 0, 1}, json, out);
  return {};
}

}  // namespace

Result<void> pipeline_real(int repeats, bool json, std::ostream& out) {
  LANISTA_TRY(two_branches(repeats, json, out));
  LANISTA_TRY(thirty_plans(repeats, json, out));
  LANISTA_TRY(population("population-8/mlp-64", 64, 64, 32, repeats, json, out));
  return population("population-8/mlp-512", 64, 512, 32, repeats, json, out);
}

}  // namespace lanista::bench
