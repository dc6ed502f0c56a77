#include "bench/mltuner.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "bench/arms.h"
#include "bench/mltuner_tasks.h"
#include "bench/tuning_runs.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::bench {
namespace {

constexpr int kSeeds = 10;
constexpr std::uint64_t kFirstSeed = 101;           // first seed of reported tasks
constexpr std::uint64_t kFirstDevelopmentSeed = 1;  // first seed of tasks for the choice of constants

struct MltunerArm {
  std::string name;
  std::function<Result<std::vector<TuningCost>>(const TuningRuns&, std::uint64_t first, int seeds)> run;
};

/// An arm that runs each seed by itself.
MltunerArm each_seed(std::string name, std::function<Result<TuningCost>(const TuningRuns&, std::uint64_t seed)> run) {
  return {std::move(name), [run = std::move(run)](const TuningRuns& runs, std::uint64_t first, int seeds) {
            std::vector<TuningCost> costs;
            for (int i = 0; i < seeds; ++i) {
              auto cost = run(runs, first + static_cast<std::uint64_t>(i));
              if (!cost) return Result<std::vector<TuningCost>>(cost.error());
              costs.push_back(*cost);
            }
            return Result<std::vector<TuningCost>>(std::move(costs));
          }};
}

/// An arm of self-tuning trials.
MltunerArm tuned(std::string name, Options options) {
  return each_seed(std::move(name), [options = std::move(options)](const TuningRuns& runs, std::uint64_t seed) {
    return runs.run_self_tuning(options, seed);
  });
}

/// An arm of whole trainings by a strategy.
MltunerArm whole(std::string name, StrategySettings settings) {
  return each_seed(std::move(name), [settings = std::move(settings)](const TuningRuns& runs, std::uint64_t seed) {
    return runs.run_strategy(settings, seed);
  });
}

/// The arms, or only the one named `only`. If `only` is JSON, an arm with these options of train.tune's mltuner. The
/// arm "ceiling" runs only if it is named.
std::vector<MltunerArm> make_arms(const std::string& only) {
  if (only == "ceiling") {
    return {each_seed(only, [](const TuningRuns& runs, std::uint64_t seed) { return runs.best_value(seed); })};
  }
  if (only.starts_with("{")) return {tuned("tried", Options::parse(only))};
  std::vector<MltunerArm> all{
      {"oracle", [](const TuningRuns& runs, std::uint64_t first, int seeds) { return runs.oracle(first, seeds); }},
      tuned("ours", Options::object()),
      tuned("ours-one-trial", {{"end", 0}}),
      tuned(
          "ours-one-batch",
          {{"params", {{"lr", "log(1e-4, 1)"}, {"momentum", "range(0, 0.95)"}, {"weight_decay", "log(1e-6, 1e-2)"}}}}),
      tuned("ours-random", {{"searcher", "random"}}),
      tuned("ours-retune-1", {{"retune", 1}, {"age", 0}}),
      tuned("ours-retune-4", {{"retune", 4}}),
      whole("hyperband", {"random", "hyperband"}),
      whole("hyperband-9", {"random", "hyperband", 9}),
      whole("hyperband-81", {"random", "hyperband", 81}),
      whole("hyperband-eta-4", {"random", "hyperband", 16, {{"eta", 4}}}),
      whole("gp", {"gp"}),
      whole("random", {"random"}),
      whole("pbt", {.sampler = "pbt", .rule = "", .slots = 8})};
  if (!only.empty()) std::erase_if(all, [&](const MltunerArm& settings) { return settings.name != only; });
  return all;
}

double mean_logarithm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return sum / static_cast<double>(values.size());
}

/// The steps of every seed by task. A task of which an arm has no steps is absent.
using StepsByTask = std::map<std::string, std::vector<double>>;

/// The geometric mean of steps of `over` divided by that of `under`, over the tasks of both. None without such a task.
std::optional<double> ratio_of(const StepsByTask& over, const StepsByTask& under) {
  std::vector<double> above, below;
  for (const auto& [task, steps] : over) {
    const auto other = under.find(task);
    if (other == under.end()) continue;
    above.insert(above.end(), steps.begin(), steps.end());
    below.insert(below.end(), other->second.begin(), other->second.end());
  }
  if (above.empty()) return std::nullopt;
  return std::exp(mean_logarithm(above) - mean_logarithm(below));
}

}  // namespace

Result<void> mltuner(const BenchRequest& request, std::ostream& out) {
  LANISTA_ASSIGN(const std::vector<TuneTask> tasks, tune_tasks());
  return mltuner_of_tasks(tasks, request, out);
}

Result<void> mltuner_of_tasks(const std::vector<TuneTask>& tasks, const BenchRequest& request, std::ostream& out) {
  kernels::set_flush_to_zero();
  const int seeds = request.seeds > 0 ? request.seeds : kSeeds;
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  const std::vector<MltunerArm> arms = make_arms(request.strategy);
  std::map<std::string, StepsByTask> all;  // by arm
  std::string known;
  int ran = 0;
  for (const TuneTask& task : tasks) {
    known += (known.empty() ? "" : ", ") + task.name;
    const bool requested = std::ranges::find(request.cases, task.name) != request.cases.end();
    if (request.cases.empty() ? !task.reported : !requested) continue;
    ++ran;
    const TuningRuns runs(task, ops);
    for (const MltunerArm& arm : arms) {
      LANISTA_ASSIGN(const std::vector<TuningCost> costs,
                     arm.run(runs, task.reported ? kFirstSeed : kFirstDevelopmentSeed, seeds));
      if (costs.empty()) {
        print({"mltuner", task.name, arm.name, "reached", 0, 0, seeds}, request.json, out);
        print_missing({"mltuner", task.name, arm.name, "steps", 0, 0, seeds}, "failed",
                      "no setting of the grid reaches the target with all seeds", request.json, out);
        continue;
      }
      std::vector<double> steps, seconds;
      double reached = 0;
      for (const TuningCost& cost : costs) {
        steps.push_back(cost.steps);
        seconds.push_back(cost.seconds);
        reached += cost.reached ? 1.0 / seeds : 0;
        if (!task.rate_changes) all[arm.name][task.name].push_back(cost.steps);
      }
      print(summary("mltuner", task.name, arm.name, "steps", steps), request.json, out);
      print(summary("mltuner", task.name, arm.name, "s", seconds), request.json, out);
      print({"mltuner", task.name, arm.name, "reached", reached, 0, seeds}, request.json, out);
      print({"mltuner", task.name, arm.name, "steps, geometric mean", std::exp(mean_logarithm(steps)), 0, seeds},
            request.json, out);
      out.flush();
    }
  }
  if (ran == 0) return Error{Code::kNotFound, "unknown case; allowed are " + known, "--case"};
  const auto ratio = [&](const std::string& name, const std::string& unit, const std::string& over,
                         const std::string& under) {
    if (const auto times = ratio_of(all[over], all[under])) {
      print({"mltuner", "geometric mean", name, unit, *times, 0, seeds}, request.json, out);
    }
  };
  for (const MltunerArm& arm : arms) ratio(arm.name, "x oracle", arm.name, "oracle");
  ratio("hyperband / ours", "x steps", "hyperband", "ours");
  return {};
}

}  // namespace lanista::bench
