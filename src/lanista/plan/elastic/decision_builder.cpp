#include "lanista/plan/elastic/decision_builder.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::plan {

DecisionBuilder::DecisionBuilder(const SchedulerState& state) : state_(state), loads_(state.loads()) {
  for (const Task& task : state.tasks) placements_.push_back(task.placement);
  for (std::size_t w = 0; w < loads_.size(); ++w) num_free_ += state.alive[w] && loads_[w].count == 0 ? 1 : 0;
}

void DecisionBuilder::count(std::size_t task, int sign) {
  const Placement& placement = placements_[task];
  const Prediction& trial = state_.tasks[task].expected;
  for (const std::int32_t worker : placement.workers) {
    WorkerLoad& load = loads_[static_cast<std::size_t>(worker)];
    const bool was_free = load.count == 0;
    load.count += sign;
    load.busy += sign * trial.busy;
    load.memory += sign * trial.memory;
    load.parts += sign / static_cast<double>(placement.parts);
    if (load.count == 0) load = {};
    load.whole = load.count > 0 && placement.workers.size() > 1;
    if (was_free) --num_free_;
    if (load.count == 0) ++num_free_;
  }
}

void DecisionBuilder::remove(std::size_t task) {
  count(task, -1);
  placements_[task] = {};
}

void DecisionBuilder::assign_workers(std::size_t task, std::int64_t how_many, const std::vector<std::int32_t>& keep) {
  LANISTA_CHECK(placements_[task].waits() && how_many <= num_free_, "too few workers are free");
  std::vector<std::int32_t> chosen;
  const auto take = [&](std::int32_t worker) {
    if (static_cast<std::int64_t>(chosen.size()) == how_many || !is_alive(worker) || load(worker).count > 0) return;
    if (std::ranges::find(chosen, worker) == chosen.end()) chosen.push_back(worker);
  };
  for (const std::int32_t worker : keep) take(worker);
  for (std::int32_t worker = 0; worker < num_workers(); ++worker) take(worker);
  std::ranges::sort(chosen);
  placements_[task] = {std::move(chosen), 1};
  count(task, 1);
}

void DecisionBuilder::resize(std::size_t task, std::int64_t how_many) {
  std::vector<std::int32_t> had = placements_[task].workers;
  remove(task);
  assign_workers(task, how_many, had);
}

void DecisionBuilder::assign_part(std::size_t task, std::int32_t worker, std::int64_t parts) {
  LANISTA_CHECK(placements_[task].waits(), "the task has a placement already");
  placements_[task] = {{worker}, parts};
  count(task, 1);
}

bool DecisionBuilder::fits_part(std::size_t task, std::int32_t worker, std::int64_t parts) const {
  const WorkerLoad& there = load(worker);
  return is_alive(worker) && !there.whole && there.parts + 1 / static_cast<double>(parts) <= 1 + 1e-9 &&
         there.memory + state_.tasks[task].expected.memory <= state_.cluster.usable_memory();
}

bool DecisionBuilder::can_join(std::size_t task, std::int32_t worker) const {
  const WorkerLoad& there = load(worker);
  return is_alive(worker) && !there.whole && there.count < state_.cluster.shares &&
         there.memory + state_.tasks[task].expected.memory <= state_.cluster.usable_memory();
}

void DecisionBuilder::join(std::size_t task, std::int32_t worker) {
  LANISTA_CHECK(placements_[task].waits(), "the task has a placement already");
  placements_[task] = {{worker}, 1};  // rebalance_parts sets the part.
  count(task, 1);
}

void DecisionBuilder::rebalance_parts() {
  for (Placement& placement : placements_) {
    if (placement.workers.size() != 1) continue;
    placement.parts =
        static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(load(placement.workers.front()).count)));
  }
}

Decision DecisionBuilder::decision(const PlanTarget& target) && { return {std::move(placements_), target}; }

std::vector<std::size_t> longest_first(const SchedulerState& state) {
  std::vector<double> seconds;
  for (const Task& task : state.tasks) seconds.push_back(remaining(task, 1));
  std::vector<std::size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return seconds[a] > seconds[b]; });
  return order;
}

}  // namespace lanista::plan
