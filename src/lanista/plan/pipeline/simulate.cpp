#include "lanista/plan/pipeline/simulate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "lanista/plan/pipeline/step_state.h"

namespace lanista::pipeline {

namespace {

double all_passes(const Model& model, std::int64_t samples) {
  double seconds = 0;
  for (const Operator& op : model.operators) {
    seconds +=
        seconds_at(op.forward, samples) + seconds_at(op.input_grad, samples) + seconds_at(op.weight_grad, samples);
  }
  return seconds;
}

}  // namespace

std::vector<StageTimes> times_of(const PipelinePlan& plan, const Problem& problem) {
  std::map<std::int64_t, double> cold_after_seconds;
  std::vector<StageTimes> all;
  for (const Stage& stage : plan.stages) {
    StageTimes times;
    double parameters = 0, saved = 0;
    const auto share = static_cast<std::int64_t>(stage.devices.size());
    const std::int64_t samples = (stage.micro_batch + share - 1) / share;
    for (const std::uint32_t o : stage.operators) {
      const Operator& op = problem.model.operators[o];
      times.forward += seconds_at(op.forward, samples);
      times.input_grad += seconds_at(op.input_grad, samples);
      times.weight_grad += seconds_at(op.weight_grad, samples);
      parameters += op.parameter_bytes;
      saved += (1 - op.warm_cache_factor) * (seconds_at(op.forward, samples) + seconds_at(op.input_grad, samples) +
                                             seconds_at(op.weight_grad, samples));
    }
    const double whole = times.forward + times.backward();
    const double speed = problem.devices.classes[problem.devices.class_of(stage.devices[0])].speed;
    if (whole > 0 && saved > 0) {
      times.warm_cache_factor = 1 - saved / whole;
      const auto [found, is_new] = cold_after_seconds.try_emplace(samples, 0);
      if (is_new) found->second = all_passes(problem.model, samples);
      times.cold_after_seconds = found->second / speed;
    }
    times.forward /= speed, times.input_grad /= speed, times.weight_grad /= speed;
    if (share > 1 && parameters > 0) {
      times.reduce = reduce_seconds(parameters, share, problem.devices.link(stage.devices, stage.devices));
    }
    all.push_back(times);
  }
  return all;
}

double reduce_seconds(double bytes, std::int64_t devices, const Link& link) {
  const auto others = static_cast<double>(devices - 1);
  return 2 * others * (link.seconds + bytes / static_cast<double>(devices) / link.bytes_per_second);
}

std::vector<EdgeTimes> edge_times_of(const PipelinePlan& plan, const Problem& problem) {
  std::vector<EdgeTimes> all;
  for (const StageEdge& edge : edges_of(plan, problem.model)) {
    EdgeTimes times{edge, 0, 0};
    const Stage &from = plan.stages[edge.from], &to = plan.stages[edge.to];
    if (edge.bytes_per_sample > 0 && from.devices != to.devices) {
      const Link link = problem.devices.link(from.devices, to.devices);
      const auto lanes = static_cast<double>(std::min(from.devices.size(), to.devices.size()));
      times.forward_seconds = link.of(edge.bytes_per_sample * static_cast<double>(from.micro_batch) / lanes);
      times.backward_seconds = link.of(edge.bytes_per_sample * static_cast<double>(to.micro_batch) / lanes);
    }
    all.push_back(times);
  }
  return all;
}

Timing::Timing(const PipelinePlan& plan, const Problem& problem)
    : Timing(plan, times_of(plan, problem), edge_times_of(plan, problem)) {}

Timing::Timing(const PipelinePlan& plan, std::vector<StageTimes> stage_times, std::vector<EdgeTimes> edge_times)
    : stages(std::move(stage_times)), edges(std::move(edge_times)), in(plan.stages.size()), out(plan.stages.size()) {
  for (std::uint32_t e = 0; e < edges.size(); ++e) {
    out[edges[e].edge.from].push_back(e);
    in[edges[e].edge.to].push_back(e);
  }
}

StepState::StepState(const PipelinePlan& the_plan, const Timing& the_timing) : plan(the_plan), timing(the_timing) {
  for (const EdgeTimes& edge : timing.edges) {
    forward_arrival.emplace_back(plan.batch / plan.stages[edge.edge.from].micro_batch, kNever);
    backward_arrival.emplace_back(plan.batch / plan.stages[edge.edge.to].micro_batch, kNever);
  }
  forward_free_at.assign(forward_arrival.size(), 0);
  backward_free_at.assign(backward_arrival.size(), 0);
}

double StepState::ready(const Action& action) const {
  double at = 0;
  const std::int64_t last = (action.micro + 1) * plan.stages[action.stage].micro_batch - 1;
  if (action.kind == ActionKind::kForward) {
    for (const std::uint32_t e : timing.in[action.stage]) {
      const std::int64_t step = plan.stages[timing.edges[e].edge.from].micro_batch;
      at = std::max(at, forward_arrival[e][static_cast<std::size_t>(last / step)]);
    }
  } else if (action.kind == ActionKind::kBackward || action.kind == ActionKind::kInputGrad) {
    for (const std::uint32_t e : timing.out[action.stage]) {
      const std::int64_t step = plan.stages[timing.edges[e].edge.to].micro_batch;
      at = std::max(at, backward_arrival[e][static_cast<std::size_t>(last / step)]);
    }
  }
  return at;
}

void StepState::finish(const Action& action, double end) {
  if (action.kind == ActionKind::kForward) {
    for (const std::uint32_t e : timing.out[action.stage]) {
      forward_arrival[e][action.micro] = forward_free_at[e] =
          std::max(forward_free_at[e], end) + timing.edges[e].forward_seconds;
    }
  } else if (action.kind == ActionKind::kBackward || action.kind == ActionKind::kInputGrad) {
    for (const std::uint32_t e : timing.in[action.stage]) {
      backward_arrival[e][action.micro] = backward_free_at[e] =
          std::max(backward_free_at[e], end) + timing.edges[e].backward_seconds;
    }
  }
}

double StepState::seconds(const Action& action, CacheWarmth& warmth) const {
  const StageTimes& times = timing.stages[action.stage];
  const double whole = seconds(action);
  if (times.warm_cache_factor == 1) return whole;
  warmth.seconds_worked += whole;
  const auto of = std::ranges::find_if(warmth.last, [&](const CacheWarmth::Last& each) {
    return each.stage == action.stage && each.kind == action.kind;
  });
  if (of == warmth.last.end()) {
    warmth.last.push_back({action.stage, action.kind, warmth.seconds_worked});
    return whole;
  }
  const double since = warmth.seconds_worked - std::exchange(of->seconds_worked, warmth.seconds_worked);
  return whole *
         (times.warm_cache_factor + (1 - times.warm_cache_factor) * std::min(1.0, since / times.cold_after_seconds));
}

double StepState::seconds(const Action& action) const {
  const StageTimes& times = timing.stages[action.stage];
  switch (action.kind) {
    case ActionKind::kForward:
      return times.forward;
    case ActionKind::kBackward:
      return times.backward();
    case ActionKind::kInputGrad:
      return times.input_grad;
    case ActionKind::kWeightGrad:
      return times.weight_grad;
    case ActionKind::kReduce:
      return times.reduce;
    default:
      return 0;
  }
}

namespace {

/// Returns the most samples of each stage between forward pass and weight gradient. They follow from its rank's order.
std::vector<std::int64_t> live_samples(const Schedule& schedule, const PipelinePlan& plan) {
  std::vector<std::int64_t> now(plan.stages.size(), 0), most(plan.stages.size(), 0);
  for (const RankSchedule& rank : schedule.ranks) {
    for (const Action& action : rank.actions) {
      const std::int64_t samples = plan.stages[action.stage].micro_batch;
      if (action.kind == ActionKind::kForward) {
        most[action.stage] = std::max(most[action.stage], now[action.stage] += samples);
      } else if (action.kind == ActionKind::kBackward || action.kind == ActionKind::kWeightGrad) {
        now[action.stage] -= samples;
      }
    }
  }
  return most;
}

/// Runs the passes of each rank in order, each as soon as its inputs have arrived, until all ranks have ended or wait
/// for each other. Returns the second at which each rank is free. The result does not depend on the order of the ranks.
///
/// `next(rank, action)` sets the next pass of a rank, or returns false at its end. `done(rank, action, begin, seconds)`
/// receives each pass that ran.
template <class Next, class Done>
std::vector<double> run_ranks(StepState& step_state, std::size_t ranks, const Next& next, const Done& done) {
  std::vector<double> clock(ranks, 0);
  std::vector<CacheWarmth> warmth(ranks);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t p = 0; p < ranks; ++p) {
      for (Action action; next(p, action); moved = true) {
        const double ready = step_state.ready(action);
        if (ready >= StepState::kNever) break;
        const double begin = std::max(clock[p], ready);
        const double seconds = step_state.seconds(action, warmth[p]);
        clock[p] = begin + seconds;
        step_state.finish(action, clock[p]);
        done(p, action, begin, seconds);
      }
    }
  }
  return clock;
}

}  // namespace

Result<SimulationResult> simulate(const Schedule& schedule, const PipelinePlan& plan, const Problem& problem,
                                  bool spans) {
  const Timing timing(plan, problem);
  StepState step_state(plan, timing);
  SimulationResult simulation;
  simulation.busy_seconds.assign(schedule.ranks.size(), 0);
  std::vector<std::size_t> at(schedule.ranks.size(), 0);
  std::vector<std::vector<Span>> of_place(schedule.ranks.size());
  const auto next = [&](std::uint32_t p, Action& action) {
    if (at[p] == schedule.ranks[p].actions.size()) return false;
    action = schedule.ranks[p].actions[at[p]];
    return true;
  };
  const auto done = [&](std::uint32_t p, const Action& action, double begin, double seconds) {
    ++at[p];
    simulation.busy_seconds[p] += seconds;
    if (spans) of_place[p].push_back({action, p, begin, begin + seconds});
  };
  const auto ended = run_ranks(step_state, schedule.ranks.size(), next, done);
  for (std::size_t p = 0; p < schedule.ranks.size(); ++p) {
    if (at[p] < schedule.ranks[p].actions.size()) {
      return Error{Code::kFailedPrecondition,
                   "rank " + std::to_string(p) + " never starts " + text_of(schedule.ranks[p].actions[at[p]]), ""};
    }
    simulation.seconds = std::max(simulation.seconds, ended[p]);
    simulation.spans.insert(simulation.spans.end(), of_place[p].begin(), of_place[p].end());
  }
  simulation.live_samples = live_samples(schedule, plan);
  PipelinePlan held = plan;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) held.stages[s].in_flight = simulation.live_samples[s];
  simulation.peak_bytes = bytes_of(held, problem.model);
  for (const EdgeTimes& edge : timing.edges) {
    simulation.sent_bytes.push_back(2 * edge.edge.bytes_per_sample * static_cast<double>(plan.batch));
  }
  return simulation;
}

double kfkb_seconds(const PipelinePlan& plan, const Timing& timing) {
  StepState step_state(plan, timing);
  struct Progress {
    std::uint32_t count, warm, k, forward = 0, backward = 0;
  };
  std::vector<Progress> of_stage;
  for (const Stage& stage : plan.stages) {
    of_stage.push_back({static_cast<std::uint32_t>(plan.batch / stage.micro_batch),
                        static_cast<std::uint32_t>(stage.in_flight / stage.micro_batch),
                        static_cast<std::uint32_t>(stage.k)});
  }
  const auto next = [&](std::uint32_t s, Action& action) {
    const Progress& its = of_stage[s];
    if (its.backward == its.count) return false;
    // After the warm-up, forward passes follow backward b when a turn of k is complete.
    const bool forward = its.forward < std::min(its.count, its.warm + its.backward / its.k * its.k);
    action = {forward ? ActionKind::kForward : ActionKind::kBackward, s, forward ? its.forward : its.backward};
    return true;
  };
  const auto ended =
      run_ranks(step_state, plan.stages.size(), next, [&](std::uint32_t s, const Action& action, auto...) {
        ++(action.kind == ActionKind::kForward ? of_stage[s].forward : of_stage[s].backward);
      });
  double seconds = 0;
  for (std::size_t s = 0; s < ended.size(); ++s) {
    if (of_stage[s].backward < of_stage[s].count) return std::numeric_limits<double>::infinity();
    seconds = std::max(seconds, ended[s] + timing.stages[s].reduce);
  }
  return seconds;
}

}  // namespace lanista::pipeline
