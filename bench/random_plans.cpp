#include "bench/random_plans.h"

#include <algorithm>

#include "lanista/base/check.h"

namespace lanista::bench {

pipeline::PipelinePlan random_stage_plan(Rng& rng, const pipeline::Problem& problem, std::size_t stages,
                                         const std::vector<std::int64_t>& micro_batches, std::int64_t num_ranks) {
  const pipeline::Neighbours neighbours(problem.model);
  const std::size_t n = problem.model.operators.size();
  std::vector<std::size_t> waits(n);
  for (std::size_t i = 0; i < n; ++i) waits[i] = neighbours.previous[i].size();
  std::vector<std::uint32_t> ready, order;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (waits[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const std::size_t pick = rng.below(ready.size());
    order.push_back(ready[pick]);
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(pick));
    for (const std::uint32_t next : neighbours.next[order.back()]) {
      if (--waits[next] == 0) ready.push_back(next);
    }
  }
  pipeline::PipelinePlan plan{problem.model.hash, problem.model.batch, {}};
  for (std::size_t s = 0; s < stages; ++s) {
    pipeline::Stage stage;
    stage.operators.assign(order.begin() + static_cast<std::ptrdiff_t>(s * n / stages),
                           order.begin() + static_cast<std::ptrdiff_t>((s + 1) * n / stages));
    std::ranges::sort(stage.operators);
    stage.micro_batch = micro_batches[rng.below(micro_batches.size())];
    stage.devices = {static_cast<std::int64_t>(s) % num_ranks};
    plan.stages.push_back(std::move(stage));
  }
  auto arranged = pipeline::arranged(std::move(plan), problem.model);
  LANISTA_CHECK(arranged.ok(), arranged.error().message);
  return *std::move(arranged);
}

}  // namespace lanista::bench
