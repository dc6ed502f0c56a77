#include "bench/baselines/random_problem.h"

#include <algorithm>

namespace lanista::pipeline {

void random_series_parallel(Rng& rng, int depth, std::uint32_t& next,
                            std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  const std::uint32_t source = next++;
  if (depth == 0) return;
  std::uint32_t end = source;
  for (std::int64_t part = rng.between(1, 2); part > 0; --part) {
    if (rng.bernoulli(0.5)) {
      const std::uint32_t begin = next;
      random_series_parallel(rng, depth - 1, next, edges);
      edges.push_back({end, begin});
      end = next - 1;
      continue;
    }
    std::vector<std::uint32_t> ends;
    for (std::int64_t branch = rng.between(2, 3); branch > 0; --branch) {
      edges.push_back({end, next});
      random_series_parallel(rng, depth - 1, next, edges);
      ends.push_back(next - 1);
    }
    const std::uint32_t join = next++;
    for (const std::uint32_t each : ends) edges.push_back({each, join});
    end = join;
  }
}

Problem random_problem(Rng rng, std::size_t max_operators, std::int64_t devices, std::int64_t batch) {
  std::uint32_t operators = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (int depth = 3; operators < 3 || operators > max_operators; depth = std::max(1, depth - 1)) {
    operators = 0;
    edges.clear();
    random_series_parallel(rng, depth, operators, edges);
  }
  std::ranges::sort(edges);
  Problem problem;
  problem.model.operators.resize(operators);
  problem.model.edges = std::move(edges);
  problem.model.batch = batch;
  problem.devices = equal_devices(devices, 1e18, {0, 1e18});
  for (Operator& op : problem.model.operators) {
    const double seconds = rng.uniform(0.5, 2), start = rng.uniform(0, 1);
    op.name = "op";
    for (int samples = 1; samples <= 64; samples *= 2) op.forward.push_back(start + seconds * samples);
    op.input_grad = op.weight_grad = op.forward;
  }
  problem.model.hash = hash_of(problem.model);
  return problem;
}

}  // namespace lanista::pipeline
