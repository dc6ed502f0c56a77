#pragma once

#include "bench/baselines/brute_force_oracle.h"
#include "bench/baselines/random_problem.h"
#include "lanista/plan/pipeline/plan.h"
#include "lanista/plan/pipeline/series_parallel.h"

namespace lanista::pipeline {

/// Returns an operator with `seconds` a sample for the forward pass and twice that for the backward pass.
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

/// Returns a problem with operators of 1 s and free links.
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

/// Returns the plan with one stage and one device for each operator.
inline PipelinePlan one_each(const Problem& problem, std::vector<std::int64_t> micro_batches) {
  PipelinePlan plan{problem.model.hash, problem.model.batch, {}};
  for (std::uint32_t i = 0; i < problem.model.operators.size(); ++i) {
    plan.stages.push_back({{i}, micro_batches[i % micro_batches.size()], 1, {i}, 1, {}});
  }
  return *arranged(std::move(plan), problem.model);
}

/// Returns the numbers of the operators below a node of a tree, in dependency order.
inline std::vector<std::uint32_t> operators_below(const Tree& tree, std::uint32_t node) {
  std::vector<std::uint32_t> found, open{node};
  while (!open.empty()) {
    const Tree::Node& at = tree.nodes[open.back()];
    open.pop_back();
    if (at.shape == Tree::Shape::kLeaf) found.push_back(at.op);
    for (std::size_t i = at.parts.size(); i-- > 0;) open.push_back(at.parts[i]);
  }
  return found;
}

}  // namespace lanista::pipeline
