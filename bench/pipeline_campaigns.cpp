#include <algorithm>
#include <cmath>
#include <ctime>
#include <ostream>

#include "bench/arms.h"
#include "bench/baselines/brute_force_oracle.h"
#include "bench/baselines/planner_baselines.h"
#include "bench/baselines/random_problem.h"
#include "bench/pipeline.h"
#include "lanista/plan/pipeline/bounds.h"
#include "lanista/plan/pipeline/planner.h"
#include "lanista/plan/pipeline/simulate.h"

namespace lanista::bench {
namespace {

using pipeline::Problem;

std::uint64_t count_of(const BenchRequest& request, int usual) {
  return static_cast<std::uint64_t>(request.seeds > 0 ? request.seeds : usual);
}

/// A random problem of up to `most` operators. With `sends` it has transfers, and devices with too little memory for
/// the whole model.
Problem random_pipeline_problem(std::uint64_t seed, std::size_t most, std::int64_t most_devices, bool sends) {
  Rng rng = Rng(seed);
  const std::int64_t devices = rng.between(2, most_devices);
  Problem problem = pipeline::random_problem(rng.split(1), most, devices, 16);
  if (!sends) return problem;
  double kept = 0, parameters = 0;
  for (pipeline::Operator& op : problem.model.operators) {
    op.output_bytes = rng.uniform(0, 1);
    op.activation_bytes = op.output_bytes + rng.uniform(0, 1);
    op.parameter_bytes = rng.uniform(0, 3);
    kept += op.activation_bytes;
    parameters += op.parameter_bytes;
  }
  problem.model.hash = hash_of(problem.model);
  const double all = kept * static_cast<double>(problem.model.batch) + problem.model.parameter_copies * parameters;
  problem.devices =
      pipeline::equal_devices(devices, all * rng.uniform(0.4, 1), {rng.uniform(0, 0.5), rng.uniform(0.5, 8)});
  return problem;
}

/// Prints median, worst and best of the values of an arm.
void rows(const BenchRequest& request, std::ostream& out, const std::string& name, const std::string& arm,
          std::vector<double> values) {
  std::ranges::sort(values);
  const auto row = [&](const std::string& unit, double value) {
    print({"pipeline", name, arm, unit, value, 0, static_cast<int>(values.size())}, request.json, out);
  };
  if (values.empty()) return;
  row("median", values[values.size() / 2]);
  row("worst", values.back());
  row("best", values.front());
}

/// The seconds of a call.
template <class Call>
double timed_call(const Call& call) {
  const double begin = now_seconds();
  call();
  return now_seconds() - begin;
}

/// Checks that a plan is valid and that its simulated time is the planned one. Errors: kInternal, and those of the
/// checks.
Result<void> check_simulated_end(const pipeline::Planned& planned, const Problem& problem) {
  LANISTA_TRY(pipeline::check(planned.plan, problem));
  LANISTA_TRY(pipeline::prove(pipeline::lowered(planned.schedule, planned.plan, problem.model), planned.plan));
  LANISTA_ASSIGN(const auto simulation, pipeline::simulate(planned.schedule, planned.plan, problem, false));
  if (std::abs(simulation.seconds - planned.seconds) > 1e-9 * simulation.seconds ||
      simulation.seconds < pipeline::bounds_of(planned.plan, problem).best() * (1 - 1e-9)) {
    return Error{Code::kInternal,
                 "a plan has " + std::to_string(planned.seconds) + " s, but its simulation has " +
                     std::to_string(simulation.seconds) + " s",
                 ""};
  }
  return {};
}

/// A problem for campaign `large`: branches of equal length between a source and a sink.
Problem large_problem(std::int64_t branches, std::int64_t operators) {
  Problem problem;
  pipeline::Model& model = problem.model;
  Rng rng(9);
  const auto put = [&] {
    pipeline::Operator op;
    op.name = "op";
    const double seconds = rng.uniform(0.5, 2) * 1e-4;
    for (int n = 1; n <= 256; n *= 2) op.forward.push_back(1e-5 + seconds * n);
    op.input_grad = op.weight_grad = op.forward;
    op.activation_bytes = op.output_bytes = 1e4;
    op.parameter_bytes = 1e6;  // stored four times, which is too much for one device
    model.operators.push_back(std::move(op));
    return static_cast<std::uint32_t>(model.operators.size() - 1);
  };
  const std::uint32_t source = put();
  std::vector<std::uint32_t> ends;
  for (std::int64_t b = 0; b < branches; ++b) {
    std::uint32_t last = source;
    for (std::int64_t i = 0; i < (operators - 2) / branches; ++i) {
      const std::uint32_t next = put();
      model.edges.push_back({last, next});
      last = next;
    }
    ends.push_back(last);
  }
  const std::uint32_t sink = put();
  for (const std::uint32_t end : ends) model.edges.push_back({end, sink});
  std::ranges::sort(model.edges);
  model.name = "large";
  model.batch = 1024;
  model.hash = hash_of(model);
  problem.devices = pipeline::equal_devices(64, 16e9, {20e-6, 12.5e9});
  return problem;
}

}  // namespace

Result<void> pipeline_oracle(const BenchRequest& request, std::ostream& out) {
  std::vector<double> ratios;
  std::uint64_t beyond = 0;  // plans that are more than 2 % slower
  for (std::uint64_t i = 0; i < count_of(request, 300); ++i) {
    Rng rng = Rng(request.seed).split(i);
    const std::int64_t devices = rng.between(2, 4);
    const Problem problem = pipeline::random_problem(rng.split(1), 12, devices, 8);
    LANISTA_ASSIGN(const auto planned, pipeline::make_plan(problem));
    LANISTA_TRY(check_simulated_end(planned, problem));
    const double best = pipeline::exact_seconds(problem, planned.seconds * (1 + 1e-9));
    ratios.push_back(planned.seconds / best);
    if (planned.seconds > best * 1.02) ++beyond;
  }
  rows(request, out, "oracle", "ours", std::move(ratios));
  print({"pipeline", "oracle", "ours", "beyond 2 %", static_cast<double>(beyond), 0, 1}, request.json, out);
  return {};
}

Result<void> pipeline_never_worse(const BenchRequest& request, std::ostream& out) {
  std::vector<double> ratios;
  std::uint64_t worse = 0, none = 0;
  const std::uint64_t count = count_of(request, 1000);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Problem problem = random_pipeline_problem(request.seed * 1'000'003 + i, 20, 8, i % 2 == 1);
    const auto ours = pipeline::make_plan(problem);
    double best = 1e300;
    for (const auto& theirs : {pipeline::pipedream(problem), pipeline::piper(problem)}) {
      if (theirs) best = std::min(best, theirs->seconds);
    }
    if (best >= 1e300) {
      ++none;
      continue;
    }
    if (ours) LANISTA_TRY(check_simulated_end(*ours, problem));
    const double ratio = ours ? ours->seconds / best : 1e9;
    ratios.push_back(ratio);
    if (ratio <= 1 + 1e-9) continue;
    ++worse;
    print({"pipeline", "never-worse", "graph " + std::to_string(i), "x", ratio, 0, 1}, request.json, out);
  }
  rows(request, out, "never-worse", "ours", std::move(ratios));
  print({"pipeline", "never-worse", "none of theirs", "", static_cast<double>(none), 0, 1}, request.json, out);
  print({"pipeline", "never-worse", "worse", "", static_cast<double>(worse), 0, 1}, request.json, out);
  if (worse > 0) return Error{Code::kInternal, std::to_string(worse) + " plans are slower than a baseline's", ""};
  return {};
}

Result<void> pipeline_speed(const BenchRequest& request, std::ostream& out) {
  std::vector<double> ratios, ours, theirs;
  for (std::uint64_t i = 0; ratios.size() < count_of(request, 20) && i < 10'000; ++i) {
    const Problem problem = random_pipeline_problem(request.seed * 1'000'003 + i, 60, 8, i % 2 == 1);
    if (problem.model.operators.size() < 30) continue;
    Result<pipeline::Planned> planned = Error{};
    Result<pipeline::Baseline> piper = Error{};
    const double mine = timed_call([&] { planned = pipeline::make_plan(problem); });
    const double its = timed_call([&] { piper = pipeline::piper(problem); });
    if (!planned || !piper) continue;
    ours.push_back(mine);
    theirs.push_back(its);
    ratios.push_back(its / mine);
  }
  rows(request, out, "speed", "ours-s", std::move(ours));
  rows(request, out, "speed", "piper-s", std::move(theirs));
  rows(request, out, "speed", "piper/ours", std::move(ratios));
  return {};
}

Result<void> pipeline_large(const BenchRequest& request, std::ostream& out) {
  for (const std::int64_t branches : {1, 100}) {
    const Problem problem = large_problem(branches, 10'000);
    const std::string name = branches == 1 ? "large-chain" : "large-branches";
    std::vector<double> walls, cores;  // wall time, and CPU time, which does not count other work of the machine
    for (int i = 0; i < 5; ++i) {
      const double begin = now_seconds();
      const std::clock_t core = std::clock();
      LANISTA_TRY(pipeline::make_plan(problem));
      walls.push_back(now_seconds() - begin);
      cores.push_back(static_cast<double>(std::clock() - core) / CLOCKS_PER_SEC);
    }
    print(summary("pipeline", name, "ours", "s to plan", walls), request.json, out);
    print(summary("pipeline", name, "ours", "core s", cores), request.json, out);
  }
  return {};
}

}  // namespace lanista::bench
