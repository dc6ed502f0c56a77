#include "bench/baselines/brute_force_oracle.h"

#include <algorithm>

namespace lanista::pipeline {
namespace {

class AllPartitions {
 public:
  AllPartitions(const Problem& problem, double at_most)
      : problem_(problem), stage_(problem.model.operators.size(), 0), best_(at_most) {}
  double run() {
    assign(0, 0);
    return best_;
  }

 private:
  void assign(std::size_t op, std::size_t used) {
    if (op == stage_.size()) return judge(used);
    for (std::size_t s = 0; s <= used && s < static_cast<std::size_t>(problem_.devices.count()); ++s) {
      stage_[op] = s;
      assign(op + 1, std::max(used, s + 1));
    }
  }

  void judge(std::size_t count) {
    std::vector<std::vector<std::uint32_t>> next(count);
    for (const auto& [u, v] : problem_.model.edges) {
      const std::size_t a = stage_[u], b = stage_[v];
      if (a != b && std::ranges::find(next[a], b) == next[a].end()) next[a].push_back(static_cast<std::uint32_t>(b));
    }
    std::vector<std::int64_t> height(count, 0);
    // Heights are final after this many rounds, or there is a cycle.
    for (std::size_t round = 0; round <= count; ++round) {
      bool changed = false;
      for (std::size_t s = 0; s < count; ++s) {
        std::int64_t most = 1;
        for (const std::uint32_t n : next[s]) most = std::max(most, height[n] + 1);
        changed = changed || most != height[s];
        height[s] = most;
      }
      if (!changed) break;
      if (round == count) return;
    }
    std::vector<std::int64_t> degree(count, 1);
    give(next, height, degree, 0, problem_.devices.count() - static_cast<std::int64_t>(count));
  }

  void give(const std::vector<std::vector<std::uint32_t>>& next, const std::vector<std::int64_t>& height,
            std::vector<std::int64_t>& degree, std::size_t s, std::int64_t left) {
    if (s == degree.size()) return time(next, height, degree);
    for (std::int64_t more = 0; more <= left; ++more) {
      degree[s] = 1 + more;
      give(next, height, degree, s + 1, left - more);
    }
    degree[s] = 1;
  }

  void time(const std::vector<std::vector<std::uint32_t>>& next, const std::vector<std::int64_t>& height,
            const std::vector<std::int64_t>& degree) {
    const std::int64_t batch = problem_.model.batch;
    for (std::int64_t b = 1; b <= batch; b *= 2) {
      std::vector<double> forward(degree.size(), 0);
      std::vector<std::int64_t> in_flight;
      bool possible = true;
      for (std::size_t s = 0; s < degree.size(); ++s) {
        possible = possible && degree[s] <= b;
        in_flight.push_back(std::min(batch, height[s] * b));
      }
      if (!possible) continue;
      for (std::size_t op = 0; op < stage_.size(); ++op) {
        const Curve& curve = problem_.model.operators[op].forward;  // It is linear in the samples.
        const double each = curve[1] - curve[0];
        const std::int64_t samples = (b + degree[stage_[op]] - 1) / degree[stage_[op]];
        forward[stage_[op]] += curve[0] - each + each * static_cast<double>(samples);
      }
      double slowest = 0;
      for (const double each : forward) slowest = std::max(slowest, 3 * each * static_cast<double>(batch / b));
      if (slowest >= best_) continue;
      const std::vector<std::int64_t> sizes(degree.size(), b), turns(degree.size(), 1);
      best_ = std::min(best_, event_simulation_seconds(next, sizes, forward, turns, in_flight, batch));
    }
  }

  const Problem& problem_;
  std::vector<std::size_t> stage_;
  double best_;
};

}  // namespace

double event_simulation_seconds(const std::vector<std::vector<std::uint32_t>>& next,
                                const std::vector<std::int64_t>& size, const std::vector<double>& forward,
                                const std::vector<std::int64_t>& turns, const std::vector<std::int64_t>& in_flight,
                                std::int64_t batch) {
  const std::size_t count = next.size();
  std::vector<std::int64_t> made(count, 0), undone(count, 0);  // Samples of ended passes.
  std::vector<std::int64_t> begun(count, 0), begun_back(count, 0);
  std::vector<double> until(count, -1);
  std::vector<int> doing(count, 0);
  double now = 0;
  for (;;) {
    bool any = false;
    for (std::size_t s = 0; s < count; ++s) {
      if (doing[s] != 0) continue;
      // The numbers of started passes decide whether the next one is forward or backward.
      const std::int64_t f = begun[s] / size[s], b = begun_back[s] / size[s], all = batch / size[s];
      const std::int64_t warm = std::min(all, in_flight[s] / size[s]);
      const bool is_forward_next = f < all && (f < warm || (b / turns[s]) * turns[s] > f - warm);
      if (is_forward_next) {
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

double exact_seconds(const Problem& problem, double at_most) { return AllPartitions(problem, at_most).run(); }

}  // namespace lanista::pipeline
