#include "bench/tuning_runs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "bench/arms.h"
#include "bench/benchmark_strategy.h"
#include "bench/recipe.h"
#include "lanista/base/check.h"
#include "lanista/base/rng.h"
#include "lanista/engine/local/tune_searcher.h"
#include "lanista/exec/train/fork.h"
#include "lanista/exec/train/tuning.h"
#include "lanista/io/studyfile/tuning.h"
#include "lanista/model/mutate/model_space.h"

namespace lanista::bench {
namespace {

constexpr std::int64_t kLanes = 8;
constexpr std::int64_t kMaxTrainings = 20;                // cap of a search in whole trainings
constexpr double kGridCutoffFactor = 2.5;                 // cap of a grid setting over the best mean so far
constexpr std::array<std::int64_t, 3> kBatches{1, 2, 4};  // factors of the task's batch
constexpr std::int64_t kNever = 1'000'000'000;            // a step that no training reaches

std::vector<double> batches_of(const TuneTask& task) {
  std::vector<double> out;
  for (const std::int64_t times : kBatches) out.push_back(static_cast<double>(times * task.batch));
  return out;
}

space::SearchSpace search_space_of(const TuneTask& task) {
  space::SearchSpace space;
  const auto add = [&](const char* name, space::FloatRange range) {
    LANISTA_CHECK(space.add({name, range, {}}).ok(), "the search space of the benchmark is valid");
  };
  add("lr", {.lo = 1e-4, .hi = 1, .log = true});
  add("momentum", {.lo = 0, .hi = 0.95});
  add("weight_decay", {.lo = 1e-6, .hi = 1e-2, .log = true});
  space::Categorical batch;
  for (const double each : batches_of(task)) batch.values.emplace_back(each);
  LANISTA_CHECK(space.add({"batch", batch, {}}).ok(), "the search space of the benchmark is valid");
  return space;
}

/// The recipe in the middle of the search space, before any tuning.
study::Recipe recipe_of(const TuneTask& task) {
  study::Recipe recipe = plain_recipe();
  recipe.loss = task.loss;
  recipe.batch = task.batch;
  recipe.steps_per_epoch = task.steps_per_epoch;
  recipe.lr = 0.01;
  recipe.momentum = 0.5;
  recipe.weight_decay = 1e-4;
  return recipe;
}

/// The recipe with a fixed batch. Steps still count batches of the task's size.
study::Recipe with_batch(study::Recipe recipe, double batch, const TuneTask& task) {
  recipe.tune = study::replay_schedule({{0, {{"batch", batch}}}, {kNever, {{"batch", batches_of(task).back()}}}});
  return recipe;
}

/// The recipe of a hyper-parameter sample.
Result<study::Recipe> recipe_of(const TuneTask& task, space::Sample sample) {
  const double batch = std::get<double>(sample.at("batch"));
  sample.erase("batch");
  study::Recipe recipe = recipe_of(task);
  LANISTA_TRY(study::apply_sample(recipe, sample));
  return with_batch(std::move(recipe), batch, task);
}

/// A training of a task that runs epoch by epoch.
class TaskTraining {
 public:
  static Result<std::unique_ptr<TaskTraining>> make(const TuneTask& task, study::Recipe recipe, std::uint64_t seed,
                                                    std::uint64_t data_seed, const graph::OpTable& ops,
                                                    std::int64_t lanes) {
    const train::TrainerInput input{.trial = TrialId{1},
                                    .model = task.model,
                                    .recipe = std::move(recipe),
                                    .metrics = {},
                                    .trial_seed = seed,
                                    .data_seed = data_seed,
                                    .data = &task.data,
                                    .step_ops = &ops};
    LANISTA_ASSIGN(auto group, train::LaneGroup::create(input, lanes));
    LANISTA_ASSIGN(auto run, train::TrialRun::create(input));
    LANISTA_TRY(group.admit(run));
    return std::unique_ptr<TaskTraining>(new TaskTraining(input, std::move(group), std::move(run)));
  }

  std::int64_t epoch_steps() const { return run_.definition().epochs.length; }
  /// Trains the next epoch and returns its steps, with those of its tune search.
  Result<double> epoch() {
    if (train::is_search_due(run_)) {
      LANISTA_ASSIGN(const bool done,
                     train::search_setting(group_, run_, runtime::make_tune_searcher, [] { return false; }));
      LANISTA_CHECK(done, "no pause is requested");
    }
    train::TrialRun* const one = &run_;
    train::StepResult end;
    while (!end.epoch_ended && end.failure.empty()) group_.advance({&one, 1}, epoch_steps(), {&end, 1});
    if (!end.failure.empty()) return Error{Code::kInternal, end.failure, ""};
    double steps = static_cast<double>(epoch_steps());
    for (const study::Branch& branch : run_.progress().measurements().back().branches) {
      if (!branch.kept) steps += static_cast<double>(branch.steps);
    }
    return steps;
  }
  double measured(const char* metric) const { return run_.progress().measurements().back().metrics.at(metric); }
  const std::vector<study::Measurement>& measurements() const { return run_.progress().measurements(); }
  train::TrainerState save() const { return run_.save(); }

  /// Continues from the state of another training with the recipe `recipe`.
  Result<void> fork_from(const train::TrainerState& other, study::Recipe recipe) {
    input_.recipe = std::move(recipe);
    LANISTA_ASSIGN(auto run, train::TrialRun::create(input_));
    LANISTA_TRY(run.restore(train::forked_state({other.tensors, other.facts, {}}, input_.trial_seed, measurements())));
    run_ = std::move(run);
    return group_.admit(run_);
  }

 private:
  TaskTraining(train::TrainerInput input, train::LaneGroup group, train::TrialRun run)
      : input_(std::move(input)), group_(std::move(group)), run_(std::move(run)) {}
  train::TrainerInput input_;
  train::LaneGroup group_;
  train::TrialRun run_;
};

/// The trainings of a strategy.
class Population {
 public:
  Population(const TuneTask& task, const graph::OpTable& ops, std::uint64_t seed)
      : task_(task), ops_(ops), seed_(seed) {}

  /// Trains one epoch of a trial. Returns its steps and its measurement.
  Result<std::pair<double, double>> train(const SearchDriver::Trial& trial) {
    PopulationMember& member = members_[trial.id];
    LANISTA_ASSIGN(study::Recipe recipe, recipe_of(task_, trial.proposal.sample));
    if (!member.training) {
      const std::uint64_t own = Rng(seed_).split(trial.id.value).key();
      LANISTA_ASSIGN(member.training, TaskTraining::make(task_, std::move(recipe), own, own, ops_, 1));
    } else if (trial.fork) {
      LANISTA_TRY(member.training->fork_from(members_.at(trial.fork->from).states.at(trial.fork->epoch), recipe));
    }
    LANISTA_ASSIGN(const double steps, member.training->epoch());
    if (keeps_states_) member.states[trial.epoch] = member.training->save();
    return std::pair(steps, member.training->measured(task_.metric()));
  }
  void end(TrialId id) {
    if (!keeps_states_) members_.erase(id);
  }
  /// Keeps the states of all epochs, for strategies that fork.
  void keep_states() { keeps_states_ = true; }

 private:
  struct PopulationMember {
    std::unique_ptr<TaskTraining> training;
    std::map<std::int64_t, train::TrainerState> states;  // states by epoch
  };
  const TuneTask& task_;
  const graph::OpTable& ops_;
  std::uint64_t seed_;
  bool keeps_states_ = false;
  std::map<TrialId, PopulationMember> members_;
};

}  // namespace

Result<TuningCost> TuningRuns::run_self_tuning(Options options, std::uint64_t seed) const {
  if (!options.contains("params")) {
    options["params"] = {{"lr", "log(1e-4, 1)"},
                         {"momentum", "range(0, 0.95)"},
                         {"weight_decay", "log(1e-6, 1e-2)"},
                         {"batch", batches_of(task_)}};
  }
  const std::int64_t patience = options.value("end", studyfile::kDefaultEndEpochs);
  options.erase("end");
  study::Recipe recipe = recipe_of(task_);
  recipe.tune = {"mltuner", std::move(options)};
  TuningCost all;
  for (std::uint64_t trial = 0; !all.reached && !all.is_capped; ++trial) {
    const std::uint64_t own = trial == 0 ? seed : Rng(seed).split("trial").split(trial).key();
    LANISTA_TRY(continue_training(all, recipe, own,
                                  {.lanes = kLanes, .epochs = kMaxTrainings * kTuneEpochs, .patience = patience}));
  }
  return all;
}

Result<std::vector<TuningCost>> TuningRuns::oracle(std::uint64_t first, int seeds) const {
  std::vector<TuningCost> best;
  double least = std::log(static_cast<double>(kTuneEpochs) * 1e6) * seeds;
  double cap = kNoBound;
  const std::int64_t epochs = task_.rate_changes ? kMaxTrainings * kTuneEpochs : kTuneEpochs;
  for (const study::Recipe& recipe : grid()) {
    std::vector<TuningCost> costs;
    double sum = 0;
    for (int s = 0; s < seeds && sum < least; ++s) {
      LANISTA_ASSIGN(costs.emplace_back(), train_fixed(recipe, first + static_cast<std::uint64_t>(s), epochs, cap));
      if (!costs.back().reached) break;
      sum += std::log(costs.back().steps);
    }
    if (!costs.back().reached || std::ssize(costs) < seeds || sum >= least) continue;
    least = sum;
    best = std::move(costs);
    cap = kGridCutoffFactor * std::exp(least / seeds);
  }
  return best;
}

Result<TuningCost> TuningRuns::best_value(std::uint64_t seed) const {
  TuningCost best;
  for (const study::Recipe& recipe : grid()) {
    if (recipe.momentum != 0.9) continue;
    LANISTA_ASSIGN(const auto training, TaskTraining::make(task_, recipe, seed, seed, ops_, 1));
    for (std::int64_t epoch = 1; epoch <= kTuneEpochs; ++epoch) {
      LANISTA_TRY(training->epoch());
      const double value = training->measured(task_.metric());
      const bool more = task_.loss == "cross_entropy" ? value > best.steps : value < best.steps;
      if (std::isfinite(value) && (best.steps == 0 || more)) best.steps = value;
    }
  }
  return best;
}

Result<TuningCost> TuningRuns::run_strategy(const StrategySettings& settings, std::uint64_t seed) const {
  LANISTA_ASSIGN(auto base, mutate::builtin_base("small-mlp", {{1}}, 2));
  std::vector<mutate::BaseModel> bases;
  bases.push_back(std::move(base));
  LANISTA_ASSIGN(auto models, mutate::ModelSpace::make(graph::builtin_ops(), std::move(bases), {}, {}, {}));
  const search::Context context{std::make_shared<const mutate::ModelSpace>(std::move(models)),
                                search_space_of(task_),
                                {{task_.loss == "cross_entropy", task_.metric()}},
                                settings.epochs,
                                Rng(seed)};
  const auto plugins = search::builtin_strategies();
  const auto plugin = std::ranges::find(plugins, settings.sampler, &search::StrategyPlugin::name);
  LANISTA_ASSIGN(const Options options, resolve_options(settings.options, plugin->options));
  LANISTA_ASSIGN(const auto strategy,
                 make_benchmark_strategy(context, *plugin, options, settings.rule, settings.rule_options));
  TuningCost cost;
  Population population(task_, ops_, seed);
  if (plugin->forks) population.keep_states();
  Result<void> trouble;
  SearchDriver driver(
      *strategy, {.slots = settings.slots},
      [&](const SearchDriver::Trial& trial) -> std::optional<Metrics> {
        const auto end = population.train(trial);
        if (!end) {
          trouble = end.error();
          return std::nullopt;
        }
        cost.steps += end->first;
        cost.reached = cost.reached || task_.reached(end->second);
        if (!std::isfinite(end->second)) return std::nullopt;
        return Metrics{{task_.metric(), end->second}};
      },
      [&](const SearchDriver::Trial& trial, study::OutcomeKind) { population.end(trial.id); });
  const double start = now_seconds();
  for (std::int64_t epochs = 1; epochs <= kMaxTrainings * kTuneEpochs && !cost.reached; ++epochs) {
    LANISTA_TRY(driver.run_until(epochs));
    if (!trouble) return trouble.error();
  }
  cost.seconds = now_seconds() - start;
  return cost;
}

std::vector<study::Recipe> TuningRuns::grid() const {
  std::vector<study::Recipe> all;
  for (const double batch : batches_of(task_)) {
    for (const double momentum : {0.9, 0.8, 0.95, 0.5, 0.0}) {
      for (int i = 0; i <= 12; ++i) {
        study::Recipe recipe = recipe_of(task_);
        recipe.lr = std::pow(10.0, -0.25 * i);
        recipe.momentum = momentum;
        all.push_back(with_batch(std::move(recipe), batch, task_));
      }
    }
  }
  return all;
}

Result<TuningCost> TuningRuns::train_fixed(study::Recipe recipe, std::uint64_t seed, std::int64_t epochs,
                                           double most_steps) const {
  TuningCost cost;
  LANISTA_TRY(continue_training(cost, std::move(recipe), seed, {.epochs = epochs, .steps = most_steps}));
  return cost;
}

Result<void> TuningRuns::continue_training(TuningCost& cost, study::Recipe recipe, std::uint64_t seed,
                                           const Bounds& bounds) const {
  const double start = now_seconds();
  LANISTA_ASSIGN(const auto training, TaskTraining::make(task_, std::move(recipe), seed, seed, ops_, bounds.lanes));
  const double cap = std::min(bounds.steps, static_cast<double>(bounds.epochs * training->epoch_steps()));
  std::optional<double> best;
  std::int64_t since_best = 0;
  do {
    LANISTA_ASSIGN(const double steps, training->epoch());
    cost.steps += steps;
    const double value = training->measured(task_.metric());
    cost.reached = task_.reached(value);
    cost.is_capped = cost.steps >= cap;
    const bool improves = std::isfinite(value) && (!best || task_.is_better(value, *best));
    since_best = improves ? 0 : since_best + 1;
    if (improves) best = value;
  } while (!cost.reached && !cost.is_capped && (bounds.patience == 0 || since_best < bounds.patience));
  cost.seconds += now_seconds() - start;
  return {};
}

}  // namespace lanista::bench
