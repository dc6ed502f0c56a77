#include "lanista/plan/elastic/situation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace lanista::schedule {

std::int64_t Situation::num_alive() const { return std::ranges::count(alive, true); }

std::vector<Load> Situation::loads() const {
  std::vector<Load> all(alive.size());
  for (const Task& task : tasks) {
    for (const std::int32_t worker : task.place.workers) {
      Load& load = all[static_cast<std::size_t>(worker)];
      ++load.count;
      load.busy += task.expected.busy;
      load.memory += task.expected.memory;
      load.parts += 1 / static_cast<double>(task.place.parts);
      load.whole = load.whole || task.place.workers.size() > 1;
    }
  }
  return all;
}

Situation as_seen(Situation situation) {
  constexpr double kSeen = 0.01, kOff = 0.01;
  for (Task& task : situation.tasks) {
    const double done = 1 - task.left;
    if (done < kSeen || task.due <= 0) continue;
    Prediction& trial = task.expected;
    const double longer = task.due / done;
    if (std::abs(longer - 1) > kOff) {
      trial.steps *= longer;
      task.due = done;
    }
    trial.resize /= 1 - trial.error;
    trial.error = 0;
  }
  return situation;
}

Result<void> check_decision(const Situation& situation, const Decision& decision) {
  const auto wrong = [](std::int64_t task, const std::string& what) {
    return Error{Code::kInvalidArgument, "trial " + std::to_string(task) + " " + what, ""};
  };
  if (decision.places.size() != situation.tasks.size()) {
    return Error{Code::kInvalidArgument,
                 "a decision of " + std::to_string(decision.places.size()) + " places for " +
                     std::to_string(situation.tasks.size()) + " trials",
                 ""};
  }
  Situation then = situation;
  for (std::size_t i = 0; i < then.tasks.size(); ++i) {
    Task& task = then.tasks[i];
    task.place = decision.places[i];
    if (!std::has_single_bit(static_cast<std::uint64_t>(task.place.parts)) || task.place.parts > then.cluster.shares ||
        (task.place.workers.size() > 1 && task.place.parts != 1)) {
      return wrong(task.id, "is to have a part of 1/" + std::to_string(task.place.parts));
    }
    if (static_cast<std::int64_t>(task.place.workers.size()) > widest_of(task, then.cluster)) {
      return wrong(task.id, "is to have " + std::to_string(task.place.workers.size()) + " workers");
    }
    for (std::size_t k = 0; k < task.place.workers.size(); ++k) {
      const auto worker = static_cast<std::size_t>(task.place.workers[k]);
      if (worker >= then.alive.size() || !then.alive[worker]) {
        return wrong(task.id, "is to be on worker " + std::to_string(worker) + ", which is not there");
      }
      if (k > 0 && task.place.workers[k] <= task.place.workers[k - 1]) return wrong(task.id, "has a worker twice");
    }
  }
  const std::vector<Load> loads = then.loads();
  for (const Task& task : then.tasks) {
    for (const std::int32_t worker : task.place.workers) {
      const Load& load = loads[static_cast<std::size_t>(worker)];
      if (load.parts > 1 + 1e-9 || (load.whole && load.count > 1)) {
        return wrong(task.id, "is to be on worker " + std::to_string(worker) + ", which is given away more than once");
      }
      // One that fits nowhere has been refused before it became a task.
      if (load.memory > then.cluster.usable_memory() * (1 + 1e-9)) {
        return wrong(task.id, "is to be on worker " + std::to_string(worker) + ", whose memory does not suffice");
      }
    }
  }
  return {};
}

}  // namespace lanista::schedule
