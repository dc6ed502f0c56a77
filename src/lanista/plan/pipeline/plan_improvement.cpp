#include "lanista/plan/pipeline/plan_improvement.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "lanista/plan/pipeline/simulate.h"

namespace lanista::pipeline {
namespace {

/// Up to these numbers an operator may move to any stage.
constexpr std::size_t kFewStages = 8, kFewOperators = 48;

/// Puts a stage on the devices of `host`.
void colocate_with(Draft& draft, std::size_t colocated, std::size_t host) {
  std::uint32_t last = 0;
  for (const Draft::Part& part : draft.parts) last = std::max(last, part.rank);
  if (draft.parts[host].rank == 0) draft.parts[host].rank = last + 1;
  draft.parts[colocated].rank = draft.parts[host].rank;
  draft.parts[colocated].degree = draft.parts[host].degree;
  draft.parts[colocated].device_class = draft.parts[host].device_class;
}

/// Tries changes of a draft until one is faster.
class Search {
 public:
  Search(const Problem& problem, std::int64_t& trials, bool allows_colocation)
      : problem_(problem),
        trials_(trials),
        allows_colocation_(allows_colocation),
        neighbours_(problem.model),
        rank_(problem.model.operators.size()) {
    const auto order = dependency_order(neighbours_);
    for (std::uint32_t i = 0; i < order.size(); ++i) rank_[order[i]] = i;
  }

  ScoredDraft run(ScoredDraft start) {
    best_ = std::move(start);
    if (best_.seconds >= 1e300) return best_;
    while (trials_ > 0 && (move_operators() || move_devices() || cut() || merge_stages() || colocate())) {
    }
    return best_;
  }

 private:
  bool better(Draft draft) {
    if (trials_ <= 0) return false;
    --trials_;
    std::erase_if(draft.parts, [](const Draft::Part& part) { return part.operators.empty(); });
    ScoredDraft judged = score_draft(std::move(draft), problem_);
    const bool shorter = judged.seconds < best_.seconds * (1 - 1e-9);
    const bool more_even =
        judged.seconds <= best_.seconds * (1 + 1e-9) && judged.imbalance < best_.imbalance * (1 - 1e-6);
    if (!shorter && !more_even) return false;
    best_ = std::move(judged);
    return true;
  }

  std::vector<std::uint32_t> stages() const {
    std::vector<std::uint32_t> stage(problem_.model.operators.size(), 0);
    for (std::uint32_t s = 0; s < best_.draft.parts.size(); ++s) {
      for (const std::uint32_t op : best_.draft.parts[s].operators) stage[op] = s;
    }
    return stage;
  }

  /// Returns the operator and all operators of its stage that depend on it (or, with `back`, on which it depends).
  std::vector<std::uint32_t> closure(std::uint32_t op, const std::vector<std::uint32_t>& stage, bool back) const {
    std::vector<std::uint32_t> found{op};
    std::set<std::uint32_t> seen{op};
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (const std::uint32_t next : back ? neighbours_.previous[found[i]] : neighbours_.next[found[i]]) {
        if (stage[next] == stage[op] && seen.insert(next).second) found.push_back(next);
      }
    }
    return found;
  }

  bool move(const std::vector<std::uint32_t>& operators, std::uint32_t from, std::uint32_t to) {
    Draft draft = best_.draft;
    const std::set<std::uint32_t> going(operators.begin(), operators.end());
    std::erase_if(draft.parts[from].operators, [&](std::uint32_t op) { return going.contains(op); });
    auto& there = draft.parts[to].operators;
    there.insert(there.end(), operators.begin(), operators.end());
    return better(std::move(draft));
  }

  bool move_operators() {
    const auto stage = stages();
    std::set<std::pair<std::vector<std::uint32_t>, std::uint32_t>> tried;
    const auto once = [&](std::vector<std::uint32_t> operators, std::uint32_t to) {
      std::ranges::sort(operators);
      const std::uint32_t from = stage[operators.front()];
      return tried.emplace(operators, to).second && move(operators, from, to);
    };
    for (const auto& [u, v] : problem_.model.edges) {
      if (trials_ <= 0) return false;
      if (stage[u] == stage[v]) continue;
      if (once(closure(u, stage, false), stage[v]) || once(closure(v, stage, true), stage[u])) return true;
    }
    if (best_.draft.parts.size() > kFewStages || stage.size() > kFewOperators) return false;
    for (std::uint32_t op = 0; op < stage.size(); ++op) {
      for (std::uint32_t to = 0; to < best_.draft.parts.size(); ++to) {
        if (to != stage[op] && once({op}, to)) return true;
      }
    }
    return false;
  }

  std::int64_t unused(std::size_t device_class) const {
    std::int64_t left = problem_.devices.classes[device_class].count;
    std::set<std::uint32_t> seen;
    for (const Draft::Part& part : best_.draft.parts) {
      if (part.device_class != device_class || (part.rank != 0 && !seen.insert(part.rank).second)) continue;
      left -= part.degree;
    }
    return left;
  }

  static bool share(const Draft::Part& a, const Draft::Part& b) { return a.rank != 0 && a.rank == b.rank; }

  /// Calls `change` with a part and all parts that share its devices.
  template <class Change>
  static void with_colocated(Draft& draft, std::size_t s, const Change& change) {
    const Draft::Part of = draft.parts[s];
    for (std::size_t i = 0; i < draft.parts.size(); ++i) {
      if (i == s || share(draft.parts[i], of)) change(draft.parts[i]);
    }
  }
  static void widen(Draft& draft, std::size_t s, std::int64_t more) {
    with_colocated(draft, s, [&](Draft::Part& part) { part.degree += more; });
  }

  bool move_devices() {
    const auto& parts = best_.draft.parts;
    for (std::size_t s = 0; s < parts.size(); ++s) {
      const std::int64_t left = unused(parts[s].device_class);
      for (const std::int64_t more : {left, std::int64_t{1}}) {
        if (more < 1 || more > left || parts[s].degree + more > best_.draft.micro_batch) continue;
        Draft draft = best_.draft;
        widen(draft, s, more);
        if (better(std::move(draft))) return true;
      }
      for (std::size_t r = 0; r < parts.size(); ++r) {
        if (r == s || parts[r].degree < 2 || parts[r].device_class != parts[s].device_class) continue;
        if (share(parts[r], parts[s])) continue;
        Draft draft = best_.draft;
        widen(draft, r, -1);
        widen(draft, s, 1);
        if (better(std::move(draft))) return true;
      }
    }
    for (std::size_t s = 0; s < parts.size(); ++s) {
      for (std::size_t c = 0; c < problem_.devices.classes.size(); ++c) {
        if (c == parts[s].device_class || unused(c) < parts[s].degree) continue;
        Draft draft = best_.draft;
        with_colocated(draft, s, [&](Draft::Part& part) { part.device_class = c; });
        if (better(std::move(draft))) return true;
      }
    }
    return false;
  }

  /// Divides the operators of a stage, in dependency order, at a part of its work.
  static std::size_t rank_of(const std::vector<double>& work, double part) {
    double total = 0, sum = 0;
    for (const double each : work) total += each;
    std::size_t i = 0;
    while (i + 1 < work.size() && sum + work[i] / 2 < total * part) sum += work[i++];
    return std::max<std::size_t>(i, 1);
  }

  /// Divides stage s into two. They divide its devices, or get one more.
  bool cut_stage(Draft draft, std::size_t s, std::int64_t more) {
    if (draft.parts[s].operators.size() < 2 || draft.parts[s].degree + more < 2 || draft.parts[s].rank != 0)
      return false;
    std::ranges::sort(draft.parts[s].operators, {}, [&](std::uint32_t op) { return rank_[op]; });
    std::vector<double> work;
    for (const std::uint32_t op : draft.parts[s].operators) {
      work.push_back(work_at(problem_.model.operators[op], draft.micro_batch));
    }
    const std::int64_t devices = draft.parts[s].degree + more, first = std::max<std::int64_t>(1, devices / 2);
    const std::size_t at = rank_of(work, static_cast<double>(first) / static_cast<double>(devices));
    Draft::Part behind = draft.parts[s];
    behind.operators.erase(behind.operators.begin(), behind.operators.begin() + static_cast<std::ptrdiff_t>(at));
    behind.degree = devices - first;
    draft.parts[s].operators.resize(at);
    draft.parts[s].degree = first;
    draft.parts.push_back(std::move(behind));
    return better(std::move(draft));
  }

  bool cut() {
    for (std::size_t s = 0; s < best_.draft.parts.size(); ++s) {
      const std::int64_t left = unused(best_.draft.parts[s].device_class);
      if (cut_stage(best_.draft, s, std::min<std::int64_t>(left, 1)) || cut_stage(best_.draft, s, 0)) return true;
      for (std::size_t r = 0; r < best_.draft.parts.size(); ++r) {
        if (r == s || best_.draft.parts[r].degree < 2) continue;
        if (best_.draft.parts[r].device_class != best_.draft.parts[s].device_class) continue;
        Draft draft = best_.draft;
        widen(draft, r, -1);
        if (cut_stage(std::move(draft), s, 1)) return true;
      }
    }
    return false;
  }

  /// Merges two stages on the devices of both, or on those of one while a third stage is divided with the others.
  bool merge_stages() {
    const auto& parts = best_.draft.parts;
    if (parts.size() > 2 * kFewStages) return false;
    for (std::size_t a = 0; a < parts.size(); ++a) {
      for (std::size_t b = a + 1; b < parts.size(); ++b) {
        if (parts[a].device_class != parts[b].device_class) continue;
        Draft both = best_.draft;
        auto& there = both.parts[a].operators;
        there.insert(there.end(), parts[b].operators.begin(), parts[b].operators.end());
        Draft one = both;
        const bool frees = std::ranges::count_if(parts, [&](const auto& each) { return share(each, parts[b]); }) < 2;
        if (frees) widen(both, a, both.parts[b].degree);
        both.parts.erase(both.parts.begin() + static_cast<std::ptrdiff_t>(b));
        if (both.parts[a].degree <= both.micro_batch && better(both)) return true;
        one.parts.erase(one.parts.begin() + static_cast<std::ptrdiff_t>(b));
        for (std::size_t c = 0; frees && c < one.parts.size() && parts.size() <= kFewStages; ++c) {
          if (one.parts[c].device_class == parts[b].device_class && cut_stage(one, c, parts[b].degree)) return true;
        }
      }
    }
    return false;
  }

  /// Makes a co-located stage of operators that wait for other stages, or that other stages wait for. The rest of their
  /// stage then does not wait. It also tries such stages on other devices.
  bool colocate() {
    const auto stage = stages();
    if (!allows_colocation_ || best_.draft.parts.size() > 4 * kFewStages) return false;
    std::set<std::vector<std::uint32_t>> tried;
    for (const auto& [u, v] : problem_.model.edges) {
      if (stage[u] == stage[v]) continue;
      for (const bool back : {false, true}) {
        auto operators = closure(back ? u : v, stage, back);
        const std::uint32_t from = stage[operators.front()];
        if (operators.size() == best_.draft.parts[from].operators.size()) continue;
        std::ranges::sort(operators);
        if (tried.insert(operators).second && move_out(operators, from)) return true;
      }
    }
    const auto& parts = best_.draft.parts;
    for (std::size_t s = 0; s < parts.size(); ++s) {
      for (std::size_t r = 0; r < parts.size() && parts[s].rank != 0; ++r) {
        if (r == s || share(parts[r], parts[s])) continue;
        Draft draft = best_.draft;
        colocate_with(draft, s, r);
        if (better(std::move(draft))) return true;
      }
    }
    return false;
  }

  bool move_out(const std::vector<std::uint32_t>& operators, std::uint32_t from) {
    Draft draft = best_.draft;
    std::erase_if(draft.parts[from].operators,
                  [&](std::uint32_t op) { return std::ranges::binary_search(operators, op); });
    draft.parts.push_back({operators, 0, 1, 0});
    colocate_with(draft, draft.parts.size() - 1, from);
    return better(std::move(draft));
  }

  const Problem& problem_;
  std::int64_t& trials_;
  const bool allows_colocation_;
  const Neighbours neighbours_;
  std::vector<std::uint32_t> rank_;
  ScoredDraft best_;
};

}  // namespace

Draft draft_of(const std::vector<StageRange>& stage_ranges, const std::vector<std::uint32_t>& order,
               std::int64_t micro_batch, const Problem& problem) {
  Draft draft{{}, micro_batch, false};
  for (const StageRange& cut : stage_ranges) {
    draft.parts.push_back({{order.begin() + cut.begin, order.begin() + cut.end}, cut.device_class, cut.degree, 0});
  }
  if (std::ranges::all_of(draft.parts, [](const Draft::Part& part) { return part.degree > 0; })) return draft;

  struct RankLoad {
    double seconds = 0, bytes = 0;
  };
  const Model& model = problem.model;
  std::vector<std::size_t> stage(model.operators.size(), 0);
  std::vector<RankLoad> loads;
  for (std::size_t s = 0; s < draft.parts.size(); ++s) {
    RankLoad& load = loads.emplace_back();
    const std::int64_t degree = std::max<std::int64_t>(draft.parts[s].degree, 1);
    for (const std::uint32_t op : draft.parts[s].operators) {
      stage[op] = s;
      load.seconds += work_at(model.operators[op], (micro_batch + degree - 1) / degree);
      load.bytes += model.parameter_copies * model.operators[op].parameter_bytes;
    }
  }
  std::vector<std::set<std::size_t>> adjacent(draft.parts.size());
  for (const auto& [u, v] : model.edges) adjacent[stage[u]].insert(stage[v]), adjacent[stage[v]].insert(stage[u]);
  for (std::size_t colocated = 0; colocated < draft.parts.size(); ++colocated) {
    if (stage_ranges[colocated].degree > 0) continue;
    std::size_t host = draft.parts.size();
    for (const bool neighbours : {true, false}) {
      for (std::size_t s = 0; s < draft.parts.size(); ++s) {
        if (stage_ranges[s].degree == 0 || (neighbours && !adjacent[colocated].contains(s))) continue;
        if (neighbours && loads[s].bytes + loads[colocated].bytes >
                              problem.devices.classes[stage_ranges[s].device_class].memory_bytes / 2)
          continue;
        if (host == draft.parts.size() || loads[s].seconds < loads[host].seconds) host = s;
      }
      if (host < draft.parts.size()) break;
    }
    if (host == draft.parts.size()) return {{}, micro_batch, false};
    colocate_with(draft, colocated, host);
    loads[host].seconds += loads[colocated].seconds;
    loads[host].bytes += loads[colocated].bytes;
  }
  return draft;
}

Result<PipelinePlan> plan_of(const Draft& draft, const Problem& problem) {
  std::vector<std::int64_t> next, end;
  for (const DeviceClass& each : problem.devices.classes) {
    next.push_back(end.empty() ? 0 : end.back());
    end.push_back(next.back() + each.count);
  }
  PipelinePlan plan{problem.model.hash, problem.model.batch, {}};
  std::map<std::uint32_t, std::uint32_t> ranks;  // Rank of the part with this first operator.
  for (const Draft::Part& part : draft.parts) {
    Stage& stage = plan.stages.emplace_back();
    stage.operators = part.operators;
    stage.micro_batch = draft.micro_batch;
    stage.devices.assign(static_cast<std::size_t>(part.degree), next[part.device_class]);
    if (part.rank != 0) ranks[std::ranges::min(part.operators)] = part.rank;
  }
  LANISTA_ASSIGN(plan, arranged(std::move(plan), problem.model));
  std::map<std::uint32_t, std::vector<std::int64_t>> given;
  for (Stage& stage : plan.stages) {
    const auto rank = ranks.find(stage.operators.front());
    const auto known = rank == ranks.end() ? given.end() : given.find(rank->second);
    if (known != given.end()) {
      stage.devices = known->second;
      continue;
    }
    const std::size_t its = problem.devices.class_of(stage.devices[0]);
    for (std::int64_t& device : stage.devices) device = next[its]++;
    if (next[its] > end[its]) {
      return Error{Code::kResourceExhausted,
                   "the draft needs more devices of class " + problem.devices.classes[its].name + " than exist", ""};
    }
    if (rank != ranks.end()) given[rank->second] = stage.devices;
  }
  if (draft.limits_in_flight) limit_in_flight(plan, problem);
  return plan;
}

ScoredDraft score_draft(Draft draft, const Problem& problem) {
  ScoredDraft judged{std::move(draft), 1e300, 0};
  if (judged.draft.parts.empty()) return judged;
  const auto plan = plan_of(judged.draft, problem);
  if (!plan) return judged;
  if (!fits(*plan, problem)) return judged;
  const Timing timing(*plan, problem);
  if (std::ranges::all_of(judged.draft.parts, [](const Draft::Part& part) { return part.rank == 0; })) {
    judged.seconds = kfkb_seconds(*plan, timing);
  } else if (const auto simulation = simulate(kfkb(*plan, problem), *plan, problem, false)) {
    judged.seconds = simulation->seconds;
  }
  for (const StageTimes& times : timing.stages) {
    const double seconds = times.forward + times.backward();
    judged.imbalance += seconds * seconds;
  }
  return judged;
}

ScoredDraft improve_draft(ScoredDraft start, const Problem& problem, std::int64_t& trials, bool allows_colocation) {
  return Search(problem, trials, allows_colocation).run(std::move(start));
}

}  // namespace lanista::pipeline
