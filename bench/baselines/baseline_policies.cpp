#include "bench/baselines/baseline_policies.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/baselines/fluid_widths.h"
#include "lanista/plan/elastic/decision_builder.h"

namespace lanista::plan {
namespace {

class LongestFirst : public Policy {
 public:
  std::string_view name() const override { return "longest-first"; }

  Decision decide(const SchedulerState& state) const override {
    DecisionBuilder builder(state);
    for (const std::size_t i : longest_first(state)) {
      if (builder.num_free() > 0 && builder.placement(i).waits()) builder.assign_workers(i, 1);
    }
    return std::move(builder).decision();
  }
};

/// Returns the fullest worker that has space for a part, so that empty ones stay free. -1 if there is none.
std::int32_t tightest(const DecisionBuilder& builder, std::size_t task, std::int64_t parts) {
  std::int32_t best = -1;
  for (std::int32_t worker = 0; worker < builder.num_workers(); ++worker) {
    if (!builder.fits_part(task, worker, parts)) continue;
    if (best < 0 || builder.load(worker).parts > builder.load(best).parts) best = worker;
  }
  return best;
}

/// Starts a task at a width, if that fits. If too few workers are free, it gets those that are.
void start(DecisionBuilder& builder, std::size_t task, const Width& width) {
  if (width.parts == 1) {
    const std::int64_t count = std::min(width.workers, builder.num_free());
    if (count > 0) builder.assign_workers(task, count);
    return;
  }
  const std::int32_t worker = tightest(builder, task, width.parts);
  if (worker >= 0) builder.assign_part(task, worker, width.parts);
}

class FluidStatic : public Policy {
 public:
  std::string_view name() const override { return "printed-static"; }

  Decision decide(const SchedulerState& state) const override {
    DecisionBuilder builder(state);
    double idle = 0;
    for (std::int32_t w = 0; w < builder.num_workers(); ++w) {
      if (builder.is_alive(w) && !builder.load(w).whole) idle += 1 - builder.load(w).parts;
    }
    std::vector<std::size_t> waiting;
    std::vector<double> seconds;
    for (const std::size_t i : longest_first(state)) {
      if (!builder.placement(i).waits()) continue;
      waiting.push_back(i);
      seconds.push_back(remaining(state.tasks[i], 1));
    }
    const auto widths = static_widths(seconds, static_cast<std::int64_t>(std::floor(idle + 1e-9)), state.cluster);
    for (std::size_t k = 0; k < waiting.size(); ++k) {
      const std::int64_t most = widest_of(state.tasks[waiting[k]], state.cluster);
      start(builder, waiting[k], {std::min(widths[k].workers, most), widths[k].parts});
    }
    return std::move(builder).decision();
  }
};

class FluidDynamic : public Policy {
 public:
  std::string_view name() const override { return "printed-dynamic"; }

  Decision decide(const SchedulerState& state) const override {
    DecisionBuilder builder(state);
    const std::vector<std::size_t> order = longest_first(state);
    std::vector<TrialState> trials;
    for (const std::size_t i : order) {
      const Task& task = state.tasks[i];
      trials.push_back(
          {task.expected, task.left, task.placement.waits() ? std::nullopt : std::optional(task.placement.width())});
    }
    Cluster there = state.cluster;
    there.workers = std::max<std::int64_t>(1, state.num_alive());
    std::vector<Width> widths = dynamic_widths(trials, there);
    for (std::size_t k = 0; k < order.size(); ++k) {
      widths[k].workers = std::min(widths[k].workers, widest_of(state.tasks[order[k]], there));
    }
    // First trials narrow, then others widen, and then waiting trials start.
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (trials[k].width && widths[k].value() < trials[k].width->value()) narrow(builder, order[k], widths[k]);
    }
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (trials[k].width && widths[k].value() > trials[k].width->value()) widen(builder, order[k], widths[k]);
    }
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (builder.placement(order[k]).waits()) start(builder, order[k], widths[k]);
    }
    return std::move(builder).decision();
  }

 private:
  static void narrow(DecisionBuilder& builder, std::size_t task, const Width& width) {
    const std::int32_t worker = builder.placement(task).workers.front();
    if (width.parts == 1) return builder.resize(task, width.workers);
    builder.remove(task);
    builder.assign_part(task, worker, width.parts);
  }

  static void widen(DecisionBuilder& builder, std::size_t task, const Width& width) {
    const Placement had = builder.placement(task);
    builder.remove(task);
    if (width.parts == 1 && builder.num_free() >= width.workers)
      return builder.assign_workers(task, width.workers, had.workers);
    if (had.parts > 1) return builder.assign_part(task, had.workers.front(), had.parts);  // No change.
    builder.assign_workers(task, static_cast<std::int64_t>(had.workers.size()), had.workers);
  }
};

class Uniform : public Policy {
 public:
  std::string_view name() const override { return "uniform"; }

  Decision decide(const SchedulerState& state) const override {
    DecisionBuilder builder(state);
    for (std::size_t i = 0; i < state.tasks.size(); ++i) {
      if (builder.num_free() > 0 && builder.placement(i).waits()) builder.assign_workers(i, 1);
    }
    std::int64_t running = 0;
    for (std::size_t i = 0; i < state.tasks.size(); ++i) running += builder.placement(i).waits() ? 0 : 1;
    if (running == 0) return std::move(builder).decision();
    const std::int64_t each = std::clamp<std::int64_t>(state.num_alive() / running, 1, state.cluster.widest);
    // First trials with too many workers give some back.
    for (const bool narrows : {true, false}) {
      for (std::size_t i = 0; i < state.tasks.size(); ++i) {
        const auto has = static_cast<std::int64_t>(builder.placement(i).workers.size());
        const std::int64_t its = std::min(each, widest_of(state.tasks[i], state.cluster));
        if (has == 0 || has == its || (has > its) != narrows) continue;
        builder.resize(i, std::min(its, has + builder.num_free()));
      }
    }
    return std::move(builder).decision();
  }
};

}  // namespace

std::unique_ptr<Policy> longest_trial_first() { return std::make_unique<LongestFirst>(); }
std::unique_ptr<Policy> fluid_static() { return std::make_unique<FluidStatic>(); }
std::unique_ptr<Policy> fluid_dynamic() { return std::make_unique<FluidDynamic>(); }
std::unique_ptr<Policy> uniform_redistribution() { return std::make_unique<Uniform>(); }

}  // namespace lanista::plan
