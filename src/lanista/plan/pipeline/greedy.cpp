#include "lanista/plan/pipeline/greedy.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

#include "lanista/plan/pipeline/step_state.h"

namespace lanista::pipeline {
namespace {

constexpr double kShortPassShare = 0.02;  ///< Largest short pass relative to the longest pass of a rank.

/// The progress of a stage.
struct Progress {
  std::uint32_t count = 0, forward = 0, input_grad = 0, weight_grad = 0;
  std::int64_t most = 0;  ///< Most samples in flight.
};

class Greedy {
 public:
  Greedy(const PipelinePlan& plan, const Problem& problem, const GreedyRule& rule)
      : plan_(plan),
        rule_(rule),
        timing_(plan, problem),
        step_state_(plan, timing_),
        schedule_{ranks_of(plan, &stages_)},
        rank_of_(plan.stages.size()),
        free_(stages_.size(), 0),
        longest_pass_(stages_.size(), 0) {
    for (const Stage& stage : plan.stages) {
      const auto most = static_cast<std::int64_t>(std::floor(static_cast<double>(stage.in_flight) * rule.in_flight));
      progress_.push_back({static_cast<std::uint32_t>(plan.batch / stage.micro_batch), 0, 0, 0,
                           std::clamp(most, stage.micro_batch, plan.batch)});
    }
    for (std::uint32_t p = 0; p < stages_.size(); ++p) {
      for (const std::uint32_t s : stages_[p]) {
        rank_of_[s] = p;
        longest_pass_[p] = std::max({longest_pass_[p], timing_.stages[s].forward, timing_.stages[s].input_grad});
      }
    }
  }

  Result<Schedule> run() {
    for (std::uint32_t p = 0; p < stages_.size(); ++p) events_.push({0, p});
    while (!events_.empty()) {
      const auto [time, rank] = events_.top();
      events_.pop();
      if (free_[rank] <= time) act(rank, time);  // If it is busy, its end is another event.
    }
    for (std::uint32_t s = 0; s < progress_.size(); ++s) {
      if (progress_[s].weight_grad < progress_[s].count) {
        return Error{Code::kFailedPrecondition, "stage " + std::to_string(s) + " never starts its next pass", ""};
      }
    }
    for (std::size_t p = 0; p < stages_.size(); ++p) {
      for (const std::uint32_t s : stages_[p]) {
        if (plan_.stages[s].devices.size() > 1) schedule_.ranks[p].actions.push_back({ActionKind::kReduce, s});
        schedule_.ranks[p].actions.push_back({ActionKind::kStep, s});
      }
    }
    return std::move(schedule_);
  }

 private:
  using Event = std::pair<double, std::uint32_t>;  ///< Time and rank.

  /// Returns the pass if it can start by `time`. A later arrival becomes an event.
  bool can(const Action& action, double time) const { return step_state_.ready(action) <= time; }

  bool forward_at(std::uint32_t s, double time, Action* found) const {
    const Progress& its = progress_[s];
    if (its.forward == its.count) return false;
    const std::int64_t held = static_cast<std::int64_t>(its.forward - its.weight_grad) * plan_.stages[s].micro_batch;
    if (held + plan_.stages[s].micro_batch > its.most) return false;
    *found = {ActionKind::kForward, s, its.forward};
    return can(*found, time);
  }

  bool backward_at(std::uint32_t s, double time, Action* found) const {
    const Progress& its = progress_[s];
    if (its.input_grad == its.forward) return false;
    *found = {rule_.split ? ActionKind::kInputGrad : ActionKind::kBackward, s, its.input_grad};
    return can(*found, time);
  }

  bool choose(std::uint32_t rank, double time, Action* found) const {
    const auto& mine = stages_[rank];
    for (const std::uint32_t s : mine) {
      // A short pass runs at once, since its samples would be held for it.
      if (timing_.stages[s].weight_grad <= kShortPassShare * longest_pass_[rank] && weight_grad_at(s, found))
        return true;
    }
    for (const bool backward : {!rule_.forwards_first, rule_.forwards_first}) {
      // Later stages are first, since their samples end soonest and free memory.
      for (std::size_t i = mine.size(); i-- > 0;) {
        if (backward ? backward_at(mine[i], time, found) : forward_at(mine[i], time, found)) return true;
      }
    }
    return std::ranges::any_of(mine, [&](std::uint32_t s) { return weight_grad_at(s, found); });
  }

  bool weight_grad_at(std::uint32_t s, Action* found) const {
    *found = {ActionKind::kWeightGrad, s, progress_[s].weight_grad};
    return progress_[s].weight_grad < progress_[s].input_grad;
  }

  void act(std::uint32_t rank, double time) {
    Action action;
    if (!choose(rank, time, &action)) return;
    Progress& its = progress_[action.stage];
    const double end = time + step_state_.seconds(action);
    step_state_.finish(action, end);
    schedule_.ranks[rank].actions.push_back(action);
    if (action.kind == ActionKind::kForward) {
      ++its.forward;
      for (const std::uint32_t e : timing_.out[action.stage]) {
        events_.push({step_state_.forward_arrival[e][action.micro], rank_of_[timing_.edges[e].edge.to]});
      }
    } else if (action.kind == ActionKind::kWeightGrad) {
      ++its.weight_grad;
    } else {
      ++its.input_grad;
      if (action.kind == ActionKind::kBackward) ++its.weight_grad;
      for (const std::uint32_t e : timing_.in[action.stage]) {
        events_.push({step_state_.backward_arrival[e][action.micro], rank_of_[timing_.edges[e].edge.from]});
      }
    }
    free_[rank] = end;
    events_.push({end, rank});
  }

  const PipelinePlan& plan_;
  const GreedyRule rule_;
  const Timing timing_;
  StepState step_state_;
  std::vector<std::vector<std::uint32_t>> stages_;
  Schedule schedule_;
  std::vector<std::uint32_t> rank_of_;
  std::vector<double> free_;
  std::vector<double> longest_pass_;  ///< Longest pass of each rank.
  std::vector<Progress> progress_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;  ///< The earliest is first.
};

/// Returns the schedule with each backward pass as its two parts, one right after the other.
Schedule in_parts(Schedule schedule) {
  for (RankSchedule& rank : schedule.ranks) {
    std::vector<Action> actions;
    for (const Action& action : rank.actions) {
      if (action.kind != ActionKind::kBackward) {
        actions.push_back(action);
        continue;
      }
      actions.push_back({ActionKind::kInputGrad, action.stage, action.micro});
      actions.push_back({ActionKind::kWeightGrad, action.stage, action.micro});
    }
    rank.actions = std::move(actions);
  }
  return schedule;
}

}  // namespace

Result<Schedule> greedy(const PipelinePlan& plan, const Problem& problem, const GreedyRule& rule) {
  return Greedy(plan, problem, rule).run();
}

Schedule split_backward(PipelinePlan& plan, const Problem& problem) {
  Schedule best = in_parts(kfkb(plan, problem));
  const auto plain = simulate(best, plan, problem, false);
  double seconds = plain ? plain->seconds : StepState::kNever;
  PipelinePlan chosen = plan;
  for (const double in_flight : {1.0, 1.5, 2.0}) {
    PipelinePlan wider = plan;
    for (Stage& stage : wider.stages) {
      const auto micro = static_cast<double>(stage.micro_batch);
      stage.in_flight = std::min(
          plan.batch,
          static_cast<std::int64_t>(std::floor(static_cast<double>(stage.in_flight) * in_flight / micro) * micro));
    }
    if (!fits(wider, problem)) break;
    for (const bool forwards_first : {false, true}) {
      auto order = greedy(wider, problem, {true, forwards_first, 1});
      if (!order) continue;
      const auto simulation = simulate(*order, wider, problem, false);
      if (!simulation || simulation->seconds >= seconds) continue;
      seconds = simulation->seconds;
      best = *std::move(order);
      chosen = wider;
    }
  }
  plan = std::move(chosen);
  return best;
}

}  // namespace lanista::pipeline
