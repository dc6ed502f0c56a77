#include "lanista/app/cli/pipeline_costs.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "lanista/app/cli/show_plan.h"
#include "lanista/engine/local/pass_timing.h"
#include "lanista/engine/local/plan_timing.h"
#include "lanista/exec/program/cpu_speed.h"
#include "lanista/exec/program/program.h"

namespace lanista::cli {
namespace {

constexpr std::int64_t kLargest = 64;           // samples of the largest measured batch
constexpr std::int64_t kValuesBytes = 1 << 20;  // about the memory of a stage's values

// The number of micro-batches that follow each other, and of the steps that give the median.
constexpr std::int64_t kParts = 8, kMaxParts = 16;
constexpr int kWarmCacheSteps = 5;

/// The number of equal micro-batches, from 2 on, that is nearest to kParts; 1: there is none.
std::int64_t micro_batch_sizes(std::int64_t batch) {
  std::int64_t best = 1;
  for (std::int64_t parts = 2; parts <= std::min(batch, kMaxParts); ++parts) {
    const bool is_nearer = best == 1 || std::abs(parts - kParts) < std::abs(best - kParts);
    if (batch % parts == 0 && is_nearer) best = parts;
  }
  return best;
}

/// For each node of a step, the index in kPasses of the pass of its model node. A backward node is an input gradient if
/// gradients of other model nodes depend on it.
std::map<graph::NodeId, std::size_t> passes_of(const autodiff::TrainingStep& train) {
  const auto forward = runtime::upstream(train, {train.loss.node});
  std::map<graph::NodeId, std::size_t> passes;
  for (std::size_t i = train.compute.size(); i-- > 0;) {
    const graph::NodeId id = train.compute[i];
    const auto origin = train.origin.find(id);
    if (origin == train.origin.end()) continue;
    std::size_t pass = forward.contains(id) ? 0 : 2;
    for (const graph::Use& use : pass == 0 ? std::vector<graph::Use>{} : train.graph.consumers(id)) {
      const auto other = train.origin.find(use.node);
      const auto known = passes.find(use.node);
      if (other == train.origin.end() || known == passes.end()) continue;
      if (other->second != origin->second || known->second == 1) pass = 1;
    }
    passes[id] = pass;
  }
  return passes;
}

Result<void> measure(const graph::Graph& model, const graph::OpTable& ops, const autodiff::StepOptions& options,
                     std::int64_t samples, double seconds, plan::Costs& costs) {
  LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(model, ops));
  LANISTA_ASSIGN(const runtime::TimedProgram timed,
                 runtime::timed_program(model, ops, options, {.max_batch = samples}, samples, seconds));
  const auto passes = passes_of(timed.train);
  std::map<graph::NodeId, std::array<double, 3>> us;
  for (std::size_t i = 0; i < timed.lines.size(); ++i) {
    if (timed.lines[i].section != "train" || !timed.lines[i].node) continue;
    const auto pass = passes.find(*timed.lines[i].node);
    if (pass != passes.end()) us[timed.train.origin.at(pass->first)][pass->second] += timed.times.line_us[i];
  }
  for (const auto& node : model.nodes()) {  // a fused node has no time of its own
    for (std::size_t pass = 0; pass < 3; ++pass) {
      plan::CostKey key = costs.machine;
      key.work = plan::work_text(*node, types.inputs(*node), samples, pipeline::kPasses[pass]);
      costs.table.put(key, {us[node->id][pass], 0, 0, timed.times.samples});
    }
  }
  return {};
}

}  // namespace

Result<plan::Costs> measure_node_costs(const graph::Graph& model, const graph::OpTable& ops,
                                       const autodiff::StepOptions& options, std::int64_t batch, double seconds) {
  const program::CpuSpeed speed = program::measure_cpu_speed();
  plan::Costs costs{
      .table = {},
      .machine = measured_here(),
      .prices = {.gflops = speed.peak_gflops, .gb_per_second = speed.level_of(kValuesBytes).gb_per_second}};
  if (seconds <= 0) return costs;
  std::vector<std::int64_t> sizes;
  for (std::int64_t n = 1; n <= std::min(batch, kLargest); n *= 2) sizes.push_back(n);
  for (const std::int64_t n : sizes) {
    LANISTA_TRY(measure(model, ops, options, n, seconds / static_cast<double>(sizes.size()), costs));
  }
  return costs;
}

Result<void> measure_warm_cache_factors(const graph::Graph& graph, const graph::OpTable& ops,
                                        const autodiff::StepOptions& options, pipeline::Model& model) {
  const std::int64_t parts = micro_batch_sizes(model.batch);
  if (parts < 2) {
    return Error{Code::kUnimplemented,
                 "a batch of " + std::to_string(model.batch) + " cannot be divided into 2 to " +
                     std::to_string(kMaxParts) + " equal micro-batches",
                 "data.batch"};
  }
  const auto all = autodiff::training_ops(ops);
  LANISTA_ASSIGN(const auto train, autodiff::derive_training_step(graph, options, all));
  LANISTA_ASSIGN(const auto infer, autodiff::derive_inference_step(graph, all));
  LANISTA_ASSIGN(const auto planned, runtime::planned_step(train, all, model.batch, model.parameter_copies));
  const auto compile = [&](const program::Stages& stages) -> Result<program::Program> {
    LANISTA_ASSIGN(
        program::Program program,
        program::Program::compile(train, infer, {.max_batch = model.batch, .accumulate = parts, .stages = &stages}));
    LANISTA_TRY(program.begin(0, 1));
    return program;
  };
  kernels::set_flush_to_zero();  // as in workers
  const runtime::SyntheticBatch batch(train, model.batch);
  LANISTA_ASSIGN(const auto times,
                 runtime::time_passes(planned, model.batch / parts, compile, batch.view(), kWarmCacheSteps));
  for (std::size_t i = 0; i < times.size(); ++i) {  // both modules use the same names of operators
    const auto found = std::ranges::find(model.operators, planned.model.operators[i].name, &pipeline::Operator::name);
    if (found != model.operators.end()) found->warm_cache_factor = times[i].warm_cache_factor;
  }
  return {};
}

}  // namespace lanista::cli
