#include "lanista/plan/pipeline/bounds.h"

#include <algorithm>

#include "lanista/plan/pipeline/simulate.h"

namespace lanista::pipeline {

double Bounds::best() const { return std::max({work, stage, path, transfer}); }

Bounds bounds_of(const Problem& problem) {
  Bounds bounds;
  const Model& model = problem.model;
  double fastest = 0;
  for (const DeviceClass& each : problem.devices.classes) fastest = std::max(fastest, each.speed);
  std::vector<double> least(model.operators.size());  // Shortest pass of each operator, of any size.
  for (std::size_t i = 0; i < least.size(); ++i) {
    const Operator& op = model.operators[i];
    // Times are linear between sizes, so the best time per sample is at one of them, or at the batch itself.
    double per_sample = op.warm_cache_factor * work_at(op, model.batch) / static_cast<double>(model.batch);
    least[i] = op.warm_cache_factor * work_at(op, model.batch);
    for (std::int64_t n = 1; n <= model.batch; n *= 2) {
      per_sample = std::min(per_sample, op.warm_cache_factor * work_at(op, n) / static_cast<double>(n));
      least[i] = std::min(least[i], op.warm_cache_factor * (seconds_at(op.forward, n) + seconds_at(op.input_grad, n)));
    }
    bounds.work += per_sample * static_cast<double>(model.batch);
  }
  bounds.work /= problem.devices.speed();
  const Neighbours neighbours(model);
  std::vector<double> end(least.size(), 0);
  for (const std::uint32_t v : dependency_order(neighbours)) {
    for (const std::uint32_t before : neighbours.previous[v]) end[v] = std::max(end[v], end[before]);
    bounds.path = std::max(bounds.path, end[v] += least[v] / fastest);
  }
  return bounds;
}

Bounds bounds_of(const PipelinePlan& plan, const Problem& problem) {
  Bounds bounds = bounds_of(problem);
  Timing timing(plan, problem);
  for (StageTimes& each : timing.stages) {  // Every pass counts as one with a warm cache.
    each.forward *= each.warm_cache_factor, each.input_grad *= each.warm_cache_factor,
        each.weight_grad *= each.warm_cache_factor;
  }
  const std::size_t count = plan.stages.size();
  const auto passes = [&](std::size_t s) { return static_cast<double>(plan.batch / plan.stages[s].micro_batch); };
  std::vector<double> head(count, 0), tail(count, 0), path(count, 0);
  for (std::size_t s = 0; s < count; ++s) {
    for (const std::uint32_t e : timing.in[s]) {
      const std::uint32_t from = timing.edges[e].edge.from;
      head[s] = std::max(head[s], head[from] + timing.stages[from].forward + timing.edges[e].forward_seconds);
    }
  }
  // No stage waits for weight gradients. So only input gradients always follow a stage, and the last stage on the path
  // back has a weight gradient.
  for (std::size_t s = 0; s < count; ++s) {
    for (const std::uint32_t e : timing.in[s]) {
      const std::uint32_t from = timing.edges[e].edge.from;
      const StageTimes& its = timing.stages[from];
      const double behind = std::max(tail[from], its.weight_grad);
      tail[s] = std::max(tail[s], timing.edges[e].backward_seconds + its.input_grad + behind);
    }
    const StageTimes& mine = timing.stages[s];
    const double ends =
        std::max(passes(s) * mine.weight_grad + mine.reduce, mine.weight_grad + tail[s] - mine.weight_grad);
    bounds.stage = std::max(bounds.stage, head[s] + passes(s) * (mine.forward + mine.input_grad) + ends);
  }
  for (const EdgeTimes& edge : timing.edges) {
    bounds.transfer = std::max(
        {bounds.transfer, edge.forward_seconds * passes(edge.edge.from), edge.backward_seconds * passes(edge.edge.to)});
  }
  return bounds;
}

}  // namespace lanista::pipeline
