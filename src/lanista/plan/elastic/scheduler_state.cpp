#include "lanista/plan/elastic/scheduler_state.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace lanista::plan {

std::int64_t SchedulerState::num_alive() const { return std::ranges::count(alive, true); }

std::vector<WorkerLoad> SchedulerState::loads() const {
  std::vector<WorkerLoad> all(alive.size());
  for (const Task& task : tasks) {
    for (const std::int32_t worker : task.placement.workers) {
      WorkerLoad& load = all[static_cast<std::size_t>(worker)];
      ++load.count;
      load.busy += task.expected.busy;
      load.memory += task.expected.memory;
      load.parts += 1 / static_cast<double>(task.placement.parts);
      load.whole = load.whole || task.placement.workers.size() > 1;
    }
  }
  return all;
}

SchedulerState with_observed_pace(SchedulerState state) {
  constexpr double kMinDone = 0.01, kTolerance = 0.01;
  for (Task& task : state.tasks) {
    const double done = 1 - task.left;
    if (done < kMinDone || task.due <= 0) continue;
    Prediction& trial = task.expected;
    const double longer = task.due / done;
    if (std::abs(longer - 1) > kTolerance) {
      trial.steps *= longer;
      task.due = done;
    }
    trial.resize /= 1 - trial.error;
    trial.error = 0;
  }
  return state;
}

Result<void> check_decision(const SchedulerState& state, const Decision& decision) {
  const auto wrong = [](std::int64_t task, const std::string& what) {
    return Error{Code::kInvalidArgument, "trial " + std::to_string(task) + " " + what, ""};
  };
  if (decision.placements.size() != state.tasks.size()) {
    return Error{Code::kInvalidArgument,
                 "a decision of " + std::to_string(decision.placements.size()) + " placements for " +
                     std::to_string(state.tasks.size()) + " trials",
                 ""};
  }
  SchedulerState then = state;
  for (std::size_t i = 0; i < then.tasks.size(); ++i) {
    Task& task = then.tasks[i];
    task.placement = decision.placements[i];
    if (!std::has_single_bit(static_cast<std::uint64_t>(task.placement.parts)) ||
        task.placement.parts > then.cluster.shares ||
        (task.placement.workers.size() > 1 && task.placement.parts != 1)) {
      return wrong(task.id, "gets a part of 1/" + std::to_string(task.placement.parts) +
                                "; allowed are powers of two up to " + std::to_string(then.cluster.shares) +
                                " of one worker");
    }
    if (static_cast<std::int64_t>(task.placement.workers.size()) > widest_of(task, then.cluster)) {
      return wrong(task.id, "gets " + std::to_string(task.placement.workers.size()) + " workers; it may have " +
                                std::to_string(widest_of(task, then.cluster)));
    }
    for (std::size_t k = 0; k < task.placement.workers.size(); ++k) {
      const auto worker = static_cast<std::size_t>(task.placement.workers[k]);
      if (worker >= then.alive.size() || !then.alive[worker]) {
        return wrong(task.id, "gets worker " + std::to_string(worker) + ", which does not exist or is lost");
      }
      if (k > 0 && task.placement.workers[k] <= task.placement.workers[k - 1])
        return wrong(task.id, "gets its workers twice or not in ascending order");
    }
  }
  const std::vector<WorkerLoad> loads = then.loads();
  for (const Task& task : then.tasks) {
    for (const std::int32_t worker : task.placement.workers) {
      const WorkerLoad& load = loads[static_cast<std::size_t>(worker)];
      if (load.parts > 1 + 1e-9 || (load.whole && load.count > 1)) {
        return wrong(task.id, "gets worker " + std::to_string(worker) + ", which is assigned more than once");
      }
      // A trial that fits on no worker was refused before it became a task.
      if (load.memory > then.cluster.usable_memory() * (1 + 1e-9)) {
        return wrong(task.id, "gets worker " + std::to_string(worker) + ", which has too little memory");
      }
    }
  }
  return {};
}

}  // namespace lanista::plan
