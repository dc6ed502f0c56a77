#include "lanista/pipeline/test_support.h"

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

Problem random_problem(Rng rng, std::size_t most_operators, std::int64_t devices, std::int64_t batch) {
  std::uint32_t operators = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (int depth = 3; operators < 3 || operators > most_operators; depth = std::max(1, depth - 1)) {
    operators = 0;
    edges.clear();
    random_series_parallel(rng, depth, operators, edges);
  }
  std::ranges::sort(edges);
  Problem problem = a_problem(operators, std::move(edges), batch, devices);
  for (Operator& op : problem.model.operators) {
    const double seconds = rng.uniform(0.5, 2), start = rng.uniform(0, 1);
    for (std::size_t i = 0; i < op.forward.size(); ++i) {
      const double samples = static_cast<double>(std::int64_t{1} << i);
      op.forward[i] = op.input_grad[i] = op.weight_grad[i] = start + seconds * samples;
    }
  }
  problem.model.hash = hash_of(problem.model);
  return problem;
}

double events(const std::vector<std::vector<std::uint32_t>>& next, const std::vector<std::int64_t>& size,
              const std::vector<double>& forward, const std::vector<std::int64_t>& turns,
              const std::vector<std::int64_t>& in_flight, std::int64_t batch) {
  const std::size_t count = next.size();
  std::vector<std::int64_t> made(count, 0), undone(count, 0);  // samples whose passes have ended
  std::vector<std::int64_t> begun(count, 0), begun_back(count, 0);
  std::vector<double> until(count, -1);
  std::vector<int> doing(count, 0);
  double now = 0;
  for (;;) {
    bool any = false;
    for (std::size_t s = 0; s < count; ++s) {
      if (doing[s] != 0) continue;
      // What comes next in the order: position among forwards and backwards is settled by how many of each were begun.
      const std::int64_t f = begun[s] / size[s], b = begun_back[s] / size[s], all = batch / size[s];
      const std::int64_t warm = std::min(all, in_flight[s] / size[s]);
      const bool wants_forward = f < all && (f < warm || (b / turns[s]) * turns[s] > f - warm);
      if (wants_forward) {
        bool ready = true;
        for (std::size_t p = 0; p < count; ++p) {
          const bool before = std::ranges::find(next[p], s) != next[p].end();
          if (before && made[p] < begun[s] + size[s]) ready = false;
        }
        if (!ready) continue;
        begun[s] += size[s], doing[s] = 1, until[s] = now + forward[s];
      } else if (b < all) {
        bool ready = true;
        for (const std::uint32_t n : next[s]) ready = ready && undone[n] >= begun_back[s] + size[s];
        if (!ready) continue;
        begun_back[s] += size[s], doing[s] = 2, until[s] = now + 2 * forward[s];
      }
      any = any || doing[s] != 0;
    }
    double soonest = 1e300;
    for (std::size_t s = 0; s < count; ++s) {
      if (doing[s] != 0) soonest = std::min(soonest, until[s]);
    }
    if (soonest >= 1e300) break;
    now = soonest;
    for (std::size_t s = 0; s < count; ++s) {
      if (doing[s] == 0 || until[s] > now) continue;
      (doing[s] == 1 ? made : undone)[s] += size[s];
      doing[s] = 0;
    }
  }
  for (std::size_t s = 0; s < count; ++s) {
    if (undone[s] < batch) return 1e300;
  }
  return now;
}

}  // namespace lanista::pipeline
