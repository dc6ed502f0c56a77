#include "bench/pipeline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>

#include "bench/arms.h"
#include "bench/baselines/planner_baselines.h"
#include "bench/pipeline_models.h"
#include "lanista/plan/pipeline/bounds.h"
#include "lanista/plan/pipeline/planner.h"

namespace lanista::bench {
namespace {

using pipeline::Baseline;
using pipeline::Planned;
using pipeline::Problem;

constexpr double kNever = std::numeric_limits<double>::infinity();

Problem problem_of(pipeline::Model model, std::int64_t devices) { return {std::move(model), summit(devices)}; }

/// The output of one case.
struct Table {
  const BenchRequest& request;
  std::ostream& out;
  std::string name;

  void row(const std::string& arm, const std::string& unit, double value) const {
    print({"pipeline", name, arm, unit, value, 0, 1}, request.json, out);
    out << std::flush;
  }
};

/// The best times of the baselines.
struct Baselines {
  double sequential = kNever, graph = kNever;  ///< seconds of a step, as a chain and as a graph
  std::int64_t micro_batch = 1;                ///< micro-batch of the better sequential plan
};

/// Prints micro-batches and depth of a plan.
void plan_row(const Table& table, const std::string& arm, const pipeline::PipelinePlan& plan) {
  table.row(arm, "m", static_cast<double>(plan.batch / plan.stages[0].micro_batch));
  table.row(arm, "deep", static_cast<double>(pipeline::depth_of(plan)));
}

/// Plans with one baseline, prints its rows and updates `baselines`. `graph` adds the row of its plan as a graph.
template <class Make>
Result<void> run_baseline(const Table& table, const std::string& arm, const Problem& problem, bool graph, Make make,
                          Baselines& baselines) {
  const auto batch = static_cast<double>(problem.model.batch);
  const double begin = now_seconds();
  const Result<Baseline> made = make();
  const double planning_seconds = now_seconds() - begin;
  if (!made) {
    if (made.error().code != Code::kResourceExhausted) return made.error();
    table.row(arm, "gives up", planning_seconds);
    return {};
  }
  table.row(arm, "samples/s", batch / made->chain_seconds);
  if (graph) table.row(arm + "-graph", "samples/s", batch / made->seconds);
  table.row(arm, "s to plan", planning_seconds);
  if (made->chain_seconds < baselines.sequential) {
    baselines.sequential = made->chain_seconds;
    baselines.micro_batch = made->chain.stages[0].micro_batch;
    table.row(arm, "m", batch / static_cast<double>(baselines.micro_batch));
    table.row(arm, "deep", static_cast<double>(pipeline::depth_of(made->chain)));
  }
  baselines.graph = std::min(baselines.graph, made->seconds);
  return {};
}

/// Runs all baselines.
Result<Baselines> run_baselines(const Table& table, const Problem& problem) {
  Baselines baselines;
  LANISTA_TRY(run_baseline(
      table, "pipedream", problem, true, [&] { return pipeline::pipedream(problem); }, baselines));
  LANISTA_TRY(run_baseline(
      table, "piper", problem, true, [&] { return pipeline::piper(problem); }, baselines));
  LANISTA_TRY(run_baseline(
      table, "pipedream-chain", problem, false, [&] { return pipeline::plan_on_chain(problem, pipeline::pipedream); },
      baselines));
  LANISTA_TRY(run_baseline(
      table, "piper-chain", problem, false, [&] { return pipeline::plan_on_chain(problem, pipeline::piper); },
      baselines));
  return baselines;
}

/// Plans with the lanista planner and prints its rows. Errors: kInternal if a step ends before the bound.
Result<Planned> ours(const Table& table, const std::string& arm, const Problem& problem,
                     const pipeline::PlanOptions& options, const Baselines& baselines) {
  const double bound = pipeline::bounds_of(problem).best();
  const double begin = now_seconds();
  LANISTA_ASSIGN(auto planned, pipeline::make_plan(problem, options));
  const double planning_seconds = now_seconds() - begin;
  if (planned.seconds < bound * (1 - 1e-9)) return Error{Code::kInternal, table.name + " ends before its bound", ""};
  table.row(arm, "samples/s", static_cast<double>(problem.model.batch) / planned.seconds);
  table.row(arm, "s to plan", planning_seconds);
  plan_row(table, arm, planned.plan);
  table.row(arm, "of bound", bound / planned.seconds);
  table.row(arm, "x seq", baselines.sequential / planned.seconds);
  table.row(arm, "x graph", baselines.graph / planned.seconds);
  return planned;
}

/// Runs a case of the comparison.
Result<void> compare(const Table& table, const Problem& problem) {
  LANISTA_ASSIGN(const Baselines baselines, run_baselines(table, problem));
  pipeline::PlanOptions options;
  LANISTA_TRY(ours(table, "ours", problem, options, baselines));
  options.split = true;
  LANISTA_TRY(ours(table, "split", problem, options, baselines));
  table.row("bound", "samples/s", static_cast<double>(problem.model.batch) / pipeline::bounds_of(problem).best());
  return {};
}

/// Runs an ablation. The arms are parallel branches with the micro-batch of the baseline, any micro-batch, co-located
/// stages, and split backward passes. The first two are those of the paper.
Result<void> ablation(const Table& table, const Problem& problem) {
  LANISTA_ASSIGN(const Baselines baselines, run_baselines(table, problem));
  pipeline::PlanOptions options;
  options.micro_batch = baselines.micro_batch;
  options.allows_colocation = false;
  LANISTA_TRY(ours(table, "parallel", problem, options, baselines));
  options.micro_batch.reset();
  LANISTA_TRY(ours(table, "micro-batch", problem, options, baselines));
  options.allows_colocation = true;
  LANISTA_TRY(ours(table, "guests", problem, options, baselines));
  options.split = true;
  LANISTA_TRY(ours(table, "split", problem, options, baselines));
  return {};
}

/// Prints the samples in flight of the six stages of CANDLE-Uno in FlexFlow (GraphPipe, section 4.2), as a sequence and
/// as a graph. Four stages are branches, one merges them, and one follows.
Result<void> buffers(const Table& table) {
  const Problem problem = problem_of(candle_uno(4, 64 * 8), 6);
  pipeline::PipelinePlan plan{problem.model.hash, problem.model.batch, {}};
  for (std::uint32_t s = 0; s < 6; ++s) {
    plan.stages.push_back({{}, 64, 1, {s}, 1, {}});
    for (std::uint32_t op = 0; op < problem.model.operators.size(); ++op) {
      const std::uint32_t stage = op < 16 ? op / 4 : op < 18 ? 4 : 5;
      if (stage == s) plan.stages[s].operators.push_back(op);
    }
  }
  for (const bool chain : {true, false}) {
    LANISTA_ASSIGN(const auto arranged, pipeline::arranged(plan, problem.model, chain));
    const std::string arm = chain ? "sequential" : "graph";
    double sum = 0;
    for (std::size_t s = 0; s < arranged.stages.size(); ++s) {
      const auto samples = static_cast<double>(arranged.stages[s].in_flight);
      table.row(arm + "-" + std::to_string(s), "samples", samples);
      sum += samples / 64;
    }
    table.row(arm, "micro-batches", sum);
  }
  return {};
}

/// A case of the benchmark.
struct Entry {
  std::string name;
  bool usual;  ///< false: runs only if `--case` names it
  std::function<Result<void>(const Table&)> run;
};

std::vector<Entry> entries() {
  std::vector<Entry> all;
  const auto model = [&](const std::string& name, std::int64_t devices, bool usual, const auto& make) {
    all.push_back({name + "/" + std::to_string(devices), usual,
                   [=](const Table& table) { return compare(table, problem_of(make(), devices)); }});
  };
  for (const std::int64_t d : {4, 8, 16, 32}) {
    model("mmt", d, true, [=] { return multi_modal_transformer(4, 8, 16 * d); });
    model("dlrm", d, true, [=] { return recommendation_model(256 * d); });
    model("candle-uno", d, true, [=] { return candle_uno(7, 256 * d); });
    model("chain", d, true, [=] { return multi_modal_transformer(1, 32, 16 * d); });
  }
  model("mmt-long", 8, true, [] { return multi_modal_transformer(4, 8, 16 * 8 * 16); });
  for (const std::int64_t b : {2, 4, 8, 16}) {
    model("branches-" + std::to_string(b), 16, true, [=] { return candle_uno(b, 256 * 16); });
  }
  const auto ablate = [&](const std::string& name, const auto& make) {
    all.push_back(
        {"ablation-" + name, true, [=](const Table& table) { return ablation(table, problem_of(make(), 32)); }});
  };
  ablate("mmt", [] { return multi_modal_transformer(4, 8, 16 * 32); });
  ablate("dlrm", [] { return recommendation_model(256 * 32); });
  ablate("candle-uno", [] { return candle_uno(7, 256 * 32); });
  all.push_back({"buffers", true, buffers});
  const auto campaign = [&](const char* name, Result<void> (*run)(const BenchRequest&, std::ostream&)) {
    all.push_back({name, false, [run](const Table& table) { return run(table.request, table.out); }});
  };
  campaign("oracle", pipeline_oracle);
  campaign("never-worse", pipeline_never_worse);
  campaign("speed", pipeline_speed);
  campaign("large", pipeline_large);
  return all;
}

}  // namespace

Result<void> pipeline(const BenchRequest& request, std::ostream& out) {
  const auto all = entries();
  for (const std::string& requested : request.cases) {
    if (std::ranges::find(all, requested, &Entry::name) != all.end()) continue;
    std::string known;
    for (const Entry& entry : all) known += (known.empty() ? "" : ", ") + entry.name;
    return Error{Code::kNotFound, "pipeline has no case " + requested + "; allowed are " + known, ""};
  }
  for (const Entry& entry : all) {
    const bool requested = std::ranges::find(request.cases, entry.name) != request.cases.end();
    if (request.cases.empty() ? !entry.usual : !requested) continue;
    LANISTA_TRY(entry.run({request, out, entry.name}));
  }
  return {};
}

}  // namespace lanista::bench
