#include <algorithm>

#include "bench/baselines/chains.h"
#include "bench/baselines/closed_sets.h"

namespace lanista::pipeline {
namespace {

/// Returns a depth-first topological order, which visits branches one after another. It is one path through the DAG of
/// antichains.
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

/// The sums over the operators of a stage.
struct Sums {
  double work = 0, bytes = 0, kept = 0;
  void add(const Operator& op, std::int64_t micro_batch) {
    work += work_at(op, micro_batch);
    bytes += op.parameter_bytes;
    kept += op.activation_bytes;
  }
  Sums operator-(const Sums& other) const { return {work - other.work, bytes - other.bytes, kept - other.kept}; }
};

/// The costs of a stage on a number of machines.
struct Costs {
  const Problem& problem;
  std::int64_t micro_batch;

  /// Returns (compute + 4 (m - 1) parameters / (bandwidth m)) / m seconds for a micro-batch. Transfers of activations
  /// are hidden. All micro-batches of a step share the gradient sum, since weights are synchronous.
  double seconds(const Sums& stage, std::size_t m) const {
    const auto machines = static_cast<double>(m);
    const double rate = problem.devices.links[0][0].bytes_per_second;
    const double micro_batches = static_cast<double>(problem.model.batch / micro_batch);
    const double sum = 4 * (machines - 1) * stage.bytes / (rate * machines) / micro_batches;
    return (stage.work + sum) / machines;
  }
  /// Returns the bytes of a device. It holds one micro-batch for each stage of this width from here on.
  bool fits(const Sums& stage, std::size_t machines, std::size_t remaining) const {
    const auto m = static_cast<std::int64_t>(machines);
    if (m > micro_batch) return false;
    const std::int64_t follow = (static_cast<std::int64_t>(remaining) + m - 1) / m;
    const std::int64_t in_flight = std::min(follow, problem.model.batch / micro_batch);
    const double samples = static_cast<double>(in_flight * ((micro_batch + m - 1) / m));
    return problem.model.parameter_copies * stage.bytes + samples * stage.kept <=
           problem.devices.classes[0].memory_bytes;
  }
};

/// A chain of stages and the time of its slowest stage.
struct RowCut {
  double slowest = 1e300;
  std::vector<ChainPart> parts;  ///< Empty if nothing fits.
};

/// Finds the best cut of an order of operators.
RowCut cut_row(const Costs& costs, const std::vector<std::uint32_t>& row) {
  const std::size_t n = row.size();
  const auto all = static_cast<std::size_t>(costs.problem.devices.count());
  std::vector<Sums> before(1);
  for (const std::uint32_t o : row) {
    before.push_back(before.back());
    before.back().add(costs.problem.model.operators[o], costs.micro_batch);
  }
  // best[m][j] is for the operators before j on m devices. `how` has begin and devices of the last stage.
  std::vector<std::vector<double>> best(all + 1, std::vector<double>(n + 1, 1e300));
  using Last = std::pair<std::size_t, std::size_t>;
  std::vector<std::vector<Last>> how(all + 1, std::vector<Last>(n + 1));
  best[0][0] = 0;
  for (std::size_t m = 1; m <= all; ++m) {
    for (std::size_t j = 1; j <= n; ++j) {
      for (std::size_t mine = 1; mine <= m; ++mine) {
        for (std::size_t k = j; k-- > 0;) {
          const Sums stage = before[j] - before[k];
          const double seconds = costs.seconds(stage, mine);
          if (seconds >= best[m][j]) break;  // Larger stages are slower.
          if (best[m - mine][k] >= 1e300) continue;
          if (!costs.fits(stage, mine, all - (m - mine))) break;
          const double slowest = std::max(best[m - mine][k], seconds);
          if (slowest < best[m][j]) best[m][j] = slowest, how[m][j] = {k, mine};
        }
      }
    }
  }
  std::size_t m = 0;
  for (std::size_t each = 1; each <= all; ++each) {
    if (best[each][n] < 1e300 && (m == 0 || best[each][n] < best[m][n])) m = each;
  }
  RowCut cut;
  if (m == 0) return cut;
  cut.slowest = best[m][n];
  for (std::size_t j = n; j > 0;) {
    const auto [k, mine] = how[m][j];
    const auto first = row.begin();
    cut.parts.insert(cut.parts.begin(),
                     {{first + static_cast<std::ptrdiff_t>(k), first + static_cast<std::ptrdiff_t>(j)},
                      static_cast<std::int64_t>(mine)});
    j = k;
    m -= mine;
  }
  return cut;
}

/// Finds the best chain of nested prefixes. A stage is the difference of two. No stage of the result is slower than
/// `limit`, except for rounding, since one order of operators already meets it.
class Antichains {
 public:
  Antichains(const Costs& costs, const std::vector<OperatorSet>& sets, double limit)
      : costs_(costs),
        sets_(sets),
        all_(static_cast<std::size_t>(costs.problem.devices.count())),
        limit_(limit * (1 + 1e-9)) {
    for (const OperatorSet& set : sets) {
      Sums& sums = sums_.emplace_back();
      for (std::uint32_t o = 0; o < costs.problem.model.operators.size(); ++o) {
        if (has(set, o)) sums.add(costs.problem.model.operators[o], costs.micro_batch);
      }
    }
    table_.assign(sets.size() * (all_ + 1), {});
    at(0, 0).slowest = 0;
  }

  std::vector<ChainPart> run() {
    const double most_work = limit_ * static_cast<double>(all_);
    for (std::size_t j = 1; j < sets_.size(); ++j) {
      for (std::size_t k = 0; k < j; ++k) {
        const Sums stage = sums_[j] - sums_[k];
        if (stage.work <= most_work && contains(sets_[j], sets_[k])) add_stage(j, k, stage);
      }
    }
    std::size_t set = sets_.size() - 1, m = 0;
    for (std::size_t each = 1; each <= all_; ++each) {
      if (at(set, each).slowest < at(set, m).slowest) m = each;
    }
    std::vector<ChainPart> parts;
    while (m > 0) {
      const Cell& cell = at(set, m);
      ChainPart part{{}, static_cast<std::int64_t>(cell.machines)};
      for (std::uint32_t o = 0; o < costs_.problem.model.operators.size(); ++o) {
        if (has(sets_[set], o) && !has(sets_[cell.before], o)) part.operators.push_back(o);
      }
      parts.insert(parts.begin(), std::move(part));
      set = cell.before;
      m -= cell.machines;
    }
    return parts;
  }

 private:
  struct Cell {
    double slowest = 1e300;
    std::uint32_t before = 0, machines = 0;
  };
  Cell& at(std::size_t set, std::size_t machines) { return table_[set * (all_ + 1) + machines]; }

  void add_stage(std::size_t j, std::size_t k, const Sums& stage) {
    for (std::size_t mine = 1; mine <= all_; ++mine) {
      const double seconds = costs_.seconds(stage, mine);
      if (seconds > limit_) continue;
      for (std::size_t m = mine; m <= all_; ++m) {
        const double slowest = std::max(at(k, m - mine).slowest, seconds);
        if (slowest >= at(j, m).slowest || !costs_.fits(stage, mine, all_ - (m - mine))) continue;
        at(j, m) = {slowest, static_cast<std::uint32_t>(k), static_cast<std::uint32_t>(mine)};
      }
    }
  }

  const Costs& costs_;
  const std::vector<OperatorSet>& sets_;
  const std::size_t all_;
  const double limit_;
  std::vector<Sums> sums_;
  std::vector<Cell> table_;
};

}  // namespace

Result<PipelinePlan> chain_plan(const std::vector<ChainPart>& parts, std::int64_t micro_batch, const Problem& problem) {
  PipelinePlan plan{problem.model.hash, problem.model.batch, {}};
  std::int64_t device = 0;
  for (const ChainPart& part : parts) {
    Stage& stage = plan.stages.emplace_back();
    stage.operators = part.operators;
    std::ranges::sort(stage.operators);
    stage.micro_batch = micro_batch;
    for (std::int64_t d = 0; d < part.devices; ++d) stage.devices.push_back(device++);
  }
  for (const StageEdge& edge : edges_of(plan, problem.model)) {
    if (edge.to <= edge.from) return Error{Code::kInternal, "a chain has a backward edge", ""};
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

Problem as_chain_problem(const Problem& problem) {
  Problem chain = problem;
  const auto row = row_of(problem.model);
  chain.model.edges.clear();
  for (std::size_t i = 0; i + 1 < row.size(); ++i) chain.model.edges.push_back({row[i], row[i + 1]});
  std::ranges::sort(chain.model.edges);
  chain.model.hash = hash_of(chain.model);
  return chain;
}

Result<Baseline> plan_on_chain(const Problem& problem, Result<Baseline> (*planner)(const Problem&, std::int64_t)) {
  LANISTA_TRY(check(problem));
  const Problem chain = as_chain_problem(problem);
  return best_chain(problem, 0, "a planner that was given the chain", [&](std::int64_t b) {
    std::vector<ChainPart> parts;
    const auto planned = planner(chain, b);
    if (!planned) return parts;
    for (const Stage& stage : planned->plan.stages) {
      parts.push_back({stage.operators, static_cast<std::int64_t>(stage.devices.size())});
    }
    return parts;
  });
}

Result<Baseline> pipedream(const Problem& problem, std::int64_t micro_batch) {
  LANISTA_TRY(check(problem));
  const auto row = row_of(problem.model);
  const auto sets = closed_sets(Neighbours(problem.model).previous, kMaxSets);
  LANISTA_ASSIGN(auto best, best_chain(problem, micro_batch, "PipeDream's planner", [&](std::int64_t b) {
                   const Costs costs{problem, b};
                   RowCut cut = cut_row(costs, row);
                   return sets.empty() ? std::move(cut.parts) : Antichains(costs, sets, cut.slowest).run();
                 }));
  best.num_sets = sets.empty() ? row.size() + 1 : sets.size();
  return best;
}

}  // namespace lanista::pipeline
