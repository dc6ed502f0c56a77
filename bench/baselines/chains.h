#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "bench/baselines/planner_baselines.h"
#include "lanista/plan/pipeline/simulate.h"

namespace lanista::pipeline {

/// Returns the best plan of `make` over all micro-batch sizes, as a chain and with the true dependencies.
template <class Make>
Result<Baseline> best_chain(const Problem& problem, std::int64_t micro_batch, std::string_view name, Make make) {
  LANISTA_TRY(check(problem));
  if (problem.devices.classes.size() != 1) {
    return Error{Code::kUnimplemented, std::string(name) + " supports one class of devices only", ""};
  }
  Baseline best;
  best.seconds = 1e300;
  best.chain_seconds = std::numeric_limits<double>::infinity();
  const auto take = [&](PipelinePlan plan, bool chain) {
    if (!check(plan, problem)) return;
    const double seconds = kfkb_seconds(plan, Timing(plan, problem));
    if (chain && seconds < best.chain_seconds) best.chain_seconds = seconds, best.chain = plan;
    if (seconds < best.seconds) best.seconds = seconds, best.plan = std::move(plan);
  };
  for (std::int64_t b = 1; b <= problem.model.batch && problem.model.batch % b == 0; b *= 2) {
    if (micro_batch > 0 && b != micro_batch) continue;
    const std::vector<ChainPart> parts = make(b);
    if (parts.empty()) continue;
    LANISTA_ASSIGN(PipelinePlan plan, chain_plan(parts, b, problem));
    PipelinePlan graph = plan;
    for (Stage& stage : graph.stages) stage.successors.clear();
    take(std::move(plan), true);
    LANISTA_ASSIGN(graph, arranged(std::move(graph), problem.model));
    take(std::move(graph), false);
  }
  if (best.seconds >= 1e300) {
    return Error{Code::kResourceExhausted, std::string(name) + " finds no stages that fit", ""};
  }
  return best;
}

}  // namespace lanista::pipeline
