#pragma once

#include "lanista/base/rng.h"
#include "lanista/pipeline/plan.h"

namespace lanista::pipeline {

/// An operator of so many seconds a sample forward and twice as many backward.
inline Operator an_operator(double seconds, double bytes = 0) {
  Operator op;
  op.name = "op";
  for (int n = 1; n <= 64; n *= 2) {
    op.forward.push_back(seconds * n);
    op.input_grad.push_back(seconds * n);
    op.weight_grad.push_back(seconds * n);
  }
  op.activation_bytes = op.output_bytes = bytes;
  return op;
}

inline Problem a_problem(std::size_t operators, std::vector<std::pair<std::uint32_t, std::uint32_t>> edges,
                         std::int64_t batch, std::int64_t devices) {
  Problem problem;
  problem.model.operators.assign(operators, an_operator(1));
  problem.model.edges = std::move(edges);
  problem.model.batch = batch;
  problem.model.hash = hash_of(problem.model);
  problem.devices = equal_devices(devices, 1e18, {0, 1e18});
  return problem;
}

/// Edges of a random series-parallel graph over operators first, first + 1, ...; its source is `first`, its sink the
/// last; next free number in `next`.
void random_series_parallel(Rng& rng, int depth, std::uint32_t& next,
                            std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges);
/// A problem on such a graph, with times that grow less than their samples do.
Problem random_problem(Rng rng, std::size_t most_operators, std::int64_t devices, std::int64_t batch);

/// A discrete-event run of strict kFkB without transfers, from the text of graphpipe.md 4.1: it steps from one end of a
/// pass to the next and asks every stage what it may begin. F takes `forward` and B twice that, a micro-batch.
/// 1e300 where it never ends. Shares no code with the product.
double events(const std::vector<std::vector<std::uint32_t>>& next, const std::vector<std::int64_t>& size,
              const std::vector<double>& forward, const std::vector<std::int64_t>& turns,
              const std::vector<std::int64_t>& in_flight, std::int64_t batch);

/// Every operator a stage on a device of its own.
inline Plan one_each(const Problem& problem, std::vector<std::int64_t> micro_batches) {
  Plan plan{problem.model.hash, problem.model.batch, {}};
  for (std::uint32_t i = 0; i < problem.model.operators.size(); ++i) {
    plan.stages.push_back({{i}, micro_batches[i % micro_batches.size()], 1, {i}, 1, {}});
  }
  return *arranged(std::move(plan), problem.model);
}

}  // namespace lanista::pipeline
