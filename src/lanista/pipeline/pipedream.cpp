#include <algorithm>

#include "lanista/pipeline/chains.h"

namespace lanista::pipeline {
namespace {

/// The model in a row, one operator a state. PipeDream sorts its antichains topologically, and the prefix that an
/// antichain stands for is it and all before it; on a topological order that walks branches one after the other, as its
/// depth-first sort does, two states differ by one operator.
std::vector<std::uint32_t> row_of(const Model& model) {
  const Neighbours neighbours(model);
  std::vector<std::uint32_t> row, ready;
  std::vector<std::size_t> waits(model.operators.size());
  for (auto v = static_cast<std::uint32_t>(waits.size()); v-- > 0;) {
    waits[v] = neighbours.previous[v].size();
    if (waits[v] == 0) ready.push_back(v);
  }
  while (!ready.empty()) {
    const std::uint32_t v = ready.back();
    ready.pop_back();
    row.push_back(v);
    for (std::size_t i = neighbours.next[v].size(); i-- > 0;) {
      if (--waits[neighbours.next[v][i]] == 0) ready.push_back(neighbours.next[v][i]);
    }
  }
  return row;
}

/// The least time of the slowest stage for all operators of a row on `devices` devices.
class Row {
 public:
  Row(const Problem& problem, const std::vector<std::uint32_t>& row, std::int64_t micro_batch)
      : problem_(problem), row_(row), micro_batch_(micro_batch), devices_(problem.devices.count()) {
    for (const std::uint32_t o : row) {
      const Operator& op = problem.model.operators[o];
      work_.push_back(work_.back() + work_at(op, micro_batch));
      bytes_.push_back(bytes_.back() + op.parameter_bytes);
      kept_.push_back(kept_.back() + op.activation_bytes);
    }
  }

  std::vector<ChainPart> run() {
    const std::size_t n = row_.size();
    const auto all = static_cast<std::size_t>(devices_);
    // best[m][j]: operators before j on m devices; how: begin and devices of the last stage.
    std::vector<std::vector<double>> best(all + 1, std::vector<double>(n + 1, 1e300));
    using Last = std::pair<std::size_t, std::size_t>;
    std::vector<std::vector<Last>> how(all + 1, std::vector<Last>(n + 1));
    best[0][0] = 0;
    for (std::size_t m = 1; m <= all; ++m) {
      for (std::size_t j = 1; j <= n; ++j) {
        for (std::size_t mine = 1; mine <= m; ++mine) {
          for (std::size_t k = j; k-- > 0;) {
            const double stage = seconds(k, j, static_cast<std::int64_t>(mine));
            if (stage >= best[m][j]) break;  // longer stages only take longer
            if (best[m - mine][k] >= 1e300) continue;
            if (!fits(k, j, static_cast<std::int64_t>(mine), devices_ - static_cast<std::int64_t>(m - mine))) break;
            const double slowest = std::max(best[m - mine][k], stage);
            if (slowest < best[m][j]) best[m][j] = slowest, how[m][j] = {k, mine};
          }
        }
      }
    }
    std::size_t m = 0;
    for (std::size_t each = 1; each <= all; ++each) {
      if (best[each][n] < 1e300 && (m == 0 || best[each][n] < best[m][n])) m = each;
    }
    std::vector<ChainPart> parts;
    if (m == 0) return parts;
    for (std::size_t j = n; j > 0;) {
      const auto [k, mine] = how[m][j];
      const auto first = row_.begin();
      parts.insert(parts.begin(), {{first + static_cast<std::ptrdiff_t>(k), first + static_cast<std::ptrdiff_t>(j)},
                                   static_cast<std::int64_t>(mine)});
      j = k;
      m -= mine;
    }
    return parts;
  }

 private:
  /// (compute + 4 (m - 1) parameters / (bandwidth m)) / m; transfers of activations are hidden. The sum of gradients is
  /// shared by all micro-batches of a step, as weights are synchronous here.
  double seconds(std::size_t k, std::size_t j, std::int64_t m) const {
    const auto machines = static_cast<double>(m);
    const double rate = problem_.devices.links[0][0].bytes_per_second;
    const double micro_batches = static_cast<double>(problem_.model.batch / micro_batch_);
    const double sum = 4 * (machines - 1) * (bytes_[j] - bytes_[k]) / (rate * machines) / micro_batches;
    return (work_[j] - work_[k] + sum) / machines;
  }
  /// Every device holds as many micro-batches as stages of this width follow.
  bool fits(std::size_t k, std::size_t j, std::int64_t m, std::int64_t remaining) const {
    if (m > micro_batch_) return false;
    const std::int64_t in_flight = std::min((remaining + m - 1) / m, problem_.model.batch / micro_batch_);
    const double samples = static_cast<double>(in_flight * ((micro_batch_ + m - 1) / m));
    return problem_.model.parameter_copies * (bytes_[j] - bytes_[k]) + samples * (kept_[j] - kept_[k]) <=
           problem_.devices.classes[0].memory_bytes;
  }

  const Problem& problem_;
  const std::vector<std::uint32_t>& row_;
  const std::int64_t micro_batch_, devices_;
  std::vector<double> work_{0}, bytes_{0}, kept_{0};
};

}  // namespace

Result<Plan> chain_plan(const std::vector<ChainPart>& parts, std::int64_t micro_batch, const Problem& problem) {
  Plan plan{problem.model.hash, problem.model.batch, {}};
  std::int64_t device = 0;
  for (const ChainPart& part : parts) {
    Stage& stage = plan.stages.emplace_back();
    stage.operators = part.operators;
    std::ranges::sort(stage.operators);
    stage.micro_batch = micro_batch;
    for (std::int64_t d = 0; d < part.devices; ++d) stage.devices.push_back(device++);
  }
  for (const StageEdge& edge : edges_of(plan, problem.model)) {
    if (edge.to <= edge.from) return Error{Code::kInternal, "a chain that goes backwards", ""};
    plan.stages[edge.from].successors.push_back(edge.to);
  }
  for (std::uint32_t s = 0; s + 1 < plan.stages.size(); ++s) {
    auto& next = plan.stages[s].successors;
    if (next.empty() || next.front() != s + 1) next.insert(next.begin(), s + 1);
  }
  set_turns(plan);
  set_in_flight(plan);
  return plan;
}

Result<Baseline> pipedream(const Problem& problem, std::int64_t micro_batch) {
  LANISTA_TRY(check(problem));
  const auto row = row_of(problem.model);
  LANISTA_ASSIGN(auto best, best_chain(problem, micro_batch, "PipeDream's planner",
                                       [&](std::int64_t b) { return Row(problem, row, b).run(); }));
  best.sets_looked_at = row.size();
  return best;
}

}  // namespace lanista::pipeline
