#include "lanista/bench/mltuner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/rng.h"
#include "lanista/bench/arms.h"
#include "lanista/bench/recipe.h"
#include "lanista/bench/searching.h"
#include "lanista/graph/text.h"
#include "lanista/kernels/kernels.h"
#include "lanista/mutate/model_space.h"
#include "lanista/runtime/tune_searcher.h"
#include "lanista/step/training_step.h"
#include "lanista/train/tuning.h"

namespace lanista::bench {
namespace {

constexpr std::int64_t kEpochs = 27;  // of a whole training
constexpr std::int64_t kLanes = 8;
constexpr std::int64_t kMostTrainings = 20;  // the cap, in whole trainings
constexpr int kSeeds = 3;

struct Task {
  std::string name;
  data::Dataset data;
  graph::Graph model;
  double target = 0;  ///< accuracy on the validation part
};

constexpr const char* kCell =
    "%0 = input(shape=[1,8,8])\n%1 = conv2d(%0, out=8, kernel=[3,3], padding=[1])\n%2 = batch_norm(%1)\n%3 = relu(%2)\n"
    "%4 = conv2d(%3, out=8, kernel=[3,3], padding=[1])\n%5 = batch_norm(%4)\n%6 = conv2d(%3, out=8, kernel=[1,1])\n"
    "%7 = batch_norm(%6)\n%8 = add(%2, %5, %7)\n%9 = global_avg_pool(%8)\n%10 = linear(%9, out=10)\n%11 = "
    "output(%10)\n";

/// Sequences of four kinds, each with its own chain of tokens.
data::RawData chains() {
  constexpr std::int64_t kTokens = 16, kLength = 24, kKinds = 4, kRows = 1200;
  data::RawData raw;
  raw.spec.name = raw.spec.source = "chains";
  raw.spec.features = {{kLength}};
  raw.spec.vocab = kTokens;
  raw.spec.classes = kKinds;
  raw.spec.labels = {"a", "b", "c", "d"};
  Rng rng(23);
  std::vector<std::vector<std::int64_t>> next(kKinds * kTokens);
  for (auto& choices : next) {
    for (int i = 0; i < 4; ++i) choices.push_back(rng.between(0, kTokens - 1));
  }
  for (std::int64_t row = 0; row < kRows; ++row) {
    const std::int64_t kind = rng.between(0, kKinds - 1);
    std::int64_t token = rng.between(0, kTokens - 1);
    for (std::int64_t i = 0; i < kLength; ++i) {
      raw.features.push_back(static_cast<float>(token));
      const auto& choices = next[static_cast<std::size_t>(kind * kTokens + token)];
      token = choices[rng.below(choices.size())];
    }
    raw.labels.push_back(static_cast<std::int32_t>(kind));
  }
  return raw;
}

Result<std::vector<Task>> make_tasks() {
  LANISTA_ASSIGN(auto digits, data::open({}, ".", real_file_system()));
  LANISTA_ASSIGN(auto cnn, mutate::builtin_base("small-cnn", digits.spec().features, digits.spec().classes));
  LANISTA_ASSIGN(auto cell, graph::parse(kCell));
  data::RawData raw = chains();
  data::Split split;
  for (std::int64_t row = 0; row < raw.rows(); ++row) split[row % 4 == 0 ? 1 : 0].push_back(row);
  LANISTA_ASSIGN(auto text, data::Dataset::make(std::move(raw), std::move(split), "auto", "auto"));
  LANISTA_ASSIGN(auto transformer, mutate::builtin_base("small-transformer", text.spec().features, text.spec().classes,
                                                        text.spec().vocab));
  std::vector<Task> tasks;
  tasks.push_back({"digits-cnn", digits, std::move(cnn.graph), 0.975});
  tasks.push_back({"nb201-cell", digits, std::move(cell), 0.95});
  tasks.push_back({"transformer-tiny", std::move(text), std::move(transformer.graph), 0.9});
  return tasks;
}

/// What a search cost until it got there, or gave up.
struct Cost {
  double steps = 0, seconds = 0;
  bool reached = false;
};

space::SearchSpace searched() {
  space::SearchSpace space;
  const auto add = [&](const char* name, space::FloatRange range) {
    LANISTA_CHECK(space.add({name, range, {}}).ok(), "the benchmark's own space");
  };
  add("lr", {.lo = 1e-4, .hi = 1, .log = true});
  add("momentum", {.lo = 0, .hi = 0.95});
  add("weight_decay", {.lo = 1e-6, .hi = 1e-2, .log = true});
  return space;
}

/// A training of a task, an epoch at a time.
class Course {
 public:
  static Result<std::unique_ptr<Course>> make(const Task& task, study::Recipe recipe, std::uint64_t seed,
                                              const graph::OpTable& ops, std::int64_t lanes) {
    const train::TrainerInput input{.trial = TrialId{1},
                                    .model = task.model,
                                    .recipe = std::move(recipe),
                                    .metrics = {},
                                    .trial_seed = seed,
                                    .data_seed = seed,
                                    .data = &task.data,
                                    .step_ops = &ops};
    LANISTA_ASSIGN(auto group, train::LaneGroup::create(input, lanes));
    LANISTA_ASSIGN(auto run, train::TrialRun::create(input));
    LANISTA_TRY(group.admit(run));
    return std::unique_ptr<Course>(new Course(std::move(group), std::move(run)));
  }

  std::int64_t epoch_steps() const { return run_.steps_per_epoch(); }
  /// Steps of the epoch, with those of its search; infinite loss: none.
  Result<double> epoch() {
    if (run_.wants_search()) {
      LANISTA_ASSIGN(const bool done,
                     train::search_setting(group_, run_, runtime::make_tune_searcher, [] { return false; }));
      LANISTA_CHECK(done, "nobody leaves");
    }
    train::TrialRun* const one = &run_;
    train::StepEnd end;
    while (!end.epoch_ended && end.failure.empty()) group_.advance({&one, 1}, epoch_steps(), {&end, 1});
    if (!end.failure.empty()) return Error{Code::kInternal, end.failure, ""};
    double steps = static_cast<double>(epoch_steps());
    for (const study::Branch& branch : run_.measurements().back().branches) {
      if (!branch.kept) steps += static_cast<double>(branch.steps);
    }
    return steps;
  }
  double accuracy() const { return run_.measurements().back().metrics.at("val_accuracy"); }

 private:
  Course(train::LaneGroup group, train::TrialRun run) : group_(std::move(group)), run_(std::move(run)) {}
  train::LaneGroup group_;
  train::TrialRun run_;
};

class Races {
 public:
  Races(const Task& task, const graph::OpTable& ops) : task_(task), ops_(ops) {}

  Result<Cost> inside(Options options, std::uint64_t seed) const {
    options["params"] = {{"lr", "log(1e-4, 1)"}, {"momentum", "range(0, 0.95)"}, {"weight_decay", "log(1e-6, 1e-2)"}};
    study::Recipe recipe = plain_recipe();
    recipe.tune = {"mltuner", std::move(options)};
    return fixed(std::move(recipe), seed, kLanes, kMostTrainings * kEpochs);
  }

  /// The best of a grid, by the median over no seed but this one.
  Result<Cost> oracle(std::uint64_t seed) const {
    Cost best{std::numeric_limits<double>::infinity(), 0, false};
    for (int i = 0; i <= 12; ++i) {
      for (const double momentum : {0.0, 0.5, 0.8, 0.9, 0.95}) {
        study::Recipe recipe = plain_recipe();
        recipe.lr = std::pow(10.0, -3 + 0.25 * i);
        recipe.momentum = momentum;
        recipe.weight_decay = 1e-4;
        LANISTA_ASSIGN(const Cost cost, fixed(std::move(recipe), seed, 1, kEpochs));
        const bool better = cost.reached != best.reached ? cost.reached : cost.steps < best.steps;
        if (better) best = cost;
      }
    }
    return best;
  }

  /// Whole trainings, one after the other, as a strategy says.
  Result<Cost> outside(const std::string& sampler, const std::string& rule, std::uint64_t seed) const {
    LANISTA_ASSIGN(auto base, mutate::builtin_base("small-mlp", {{1}}, 2));
    std::vector<mutate::BaseModel> bases;
    bases.push_back(std::move(base));
    LANISTA_ASSIGN(auto models, mutate::ModelSpace::make(graph::builtin_ops(), std::move(bases), {}, {}, {}));
    const strategy::Context context{std::make_shared<const mutate::ModelSpace>(std::move(models)),
                                    searched(),
                                    {{true, "val_accuracy"}},
                                    kEpochs,
                                    Rng(seed)};
    const auto plugins = strategy::builtin_strategies();
    const auto plugin = std::ranges::find(plugins, sampler, &strategy::StrategyPlugin::name);
    LANISTA_ASSIGN(const Options options, resolve_options(Options::object(), plugin->options));
    LANISTA_ASSIGN(const auto strategy, searching(context, *plugin, options, rule));
    Cost cost;
    std::map<TrialId, std::unique_ptr<Course>> courses;
    Result<void> trouble;
    SearchDriver driver(
        *strategy, {.slots = 1},
        [&](const SearchDriver::Trial& trial) -> std::optional<Metrics> {
          auto& course = courses[trial.id];
          if (!course) {
            study::Recipe recipe = plain_recipe();
            trouble = study::apply_sample(recipe, trial.proposal.sample);
            const std::uint64_t own = Rng(seed).split(trial.id.value).key();
            auto made = Course::make(task_, std::move(recipe), own, ops_, 1);
            if (!made) trouble = made.error();
            if (!trouble) return std::nullopt;
            course = *std::move(made);
          }
          auto steps = course->epoch();
          if (!steps) return std::nullopt;
          cost.steps += *steps;
          cost.reached = cost.reached || course->accuracy() >= task_.target;
          return Metrics{{"val_accuracy", course->accuracy()}};
        },
        [&](const SearchDriver::Trial& trial, study::OutcomeKind) { courses.erase(trial.id); });
    const double start = now_seconds();
    for (std::int64_t epochs = 1; epochs <= kMostTrainings * kEpochs && !cost.reached; ++epochs) {
      LANISTA_TRY(driver.run_to(epochs));
      if (!trouble) return trouble.error();
    }
    cost.seconds = now_seconds() - start;
    return cost;
  }

 private:
  Result<Cost> fixed(study::Recipe recipe, std::uint64_t seed, std::int64_t lanes, std::int64_t epochs) const {
    const double start = now_seconds();
    LANISTA_ASSIGN(const auto course, Course::make(task_, std::move(recipe), seed, ops_, lanes));
    Cost cost;
    const double cap = static_cast<double>(epochs * course->epoch_steps());
    while (!cost.reached && cost.steps < cap) {
      LANISTA_ASSIGN(const double steps, course->epoch());
      cost.steps += steps;
      cost.reached = course->accuracy() >= task_.target;
    }
    cost.seconds = now_seconds() - start;
    return cost;
  }

  const Task& task_;
  const graph::OpTable& ops_;
};

struct Way {
  std::string name;
  std::function<Result<Cost>(const Races&, std::uint64_t seed)> run;
};

std::vector<Way> ways() {
  const auto tuned = [](std::string name, Options options) {
    return Way{std::move(name),
               [options](const Races& races, std::uint64_t seed) { return races.inside(options, seed); }};
  };
  const auto searched = [](std::string name, std::string sampler, std::string rule) {
    return Way{std::move(name),
               [=](const Races& races, std::uint64_t seed) { return races.outside(sampler, rule, seed); }};
  };
  return {{"oracle", [](const Races& races, std::uint64_t seed) { return races.oracle(seed); }},
          tuned("published", {{"together", 1}, {"paired", false}}),
          tuned("ours", Options::object()),
          tuned("ours-unpaired", {{"paired", false}}),
          tuned("ours-sequential", {{"sequential", 3}}),
          tuned("ours-second-look", {{"second_look", 3}}),
          tuned("ours-tpe", {{"searcher", "tpe"}}),
          searched("hyperband", "random", "hyperband"),
          searched("gp", "gp", "none"),
          searched("random", "random", "none")};
}

double mean_logarithm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return sum / static_cast<double>(values.size());
}

}  // namespace

Result<void> mltuner(const Request& request, std::ostream& out) {
  kernels::set_flush_to_zero();
  const int seeds = request.seeds > 0 ? request.seeds : kSeeds;
  const graph::OpTable ops = step::training_ops(graph::builtin_ops());
  LANISTA_ASSIGN(const std::vector<Task> tasks, make_tasks());
  const std::vector<Way> arms = ways();
  std::map<std::string, std::vector<double>> all;  // steps of every task and seed, of each arm
  for (const Task& task : tasks) {
    if (!request.cases.empty() && std::ranges::find(request.cases, task.name) == request.cases.end()) continue;
    const Races races(task, ops);
    for (const Way& arm : arms) {
      std::vector<double> steps, seconds;
      double reached = 0;
      for (int seed = 1; seed <= seeds; ++seed) {
        LANISTA_ASSIGN(const Cost cost, arm.run(races, static_cast<std::uint64_t>(seed)));
        steps.push_back(cost.steps);
        seconds.push_back(cost.seconds);
        reached += cost.reached ? 1.0 / seeds : 0;
        all[arm.name].push_back(cost.steps);
      }
      print(summary("mltuner", task.name, arm.name, "steps", steps), request.json, out);
      print(summary("mltuner", task.name, arm.name, "s", seconds), request.json, out);
      print({"mltuner", task.name, arm.name, "reached", reached, 0, seeds}, request.json, out);
      out.flush();
    }
  }
  if (all.empty())
    return Error{Code::kNotFound, "there is no such case (known: digits-cnn, nb201-cell, transformer-tiny)", "--case"};
  for (const Way& arm : arms) {
    const double over = std::exp(mean_logarithm(all[arm.name]) - mean_logarithm(all["oracle"]));
    print({"mltuner", "geometric mean", arm.name, "x oracle", over, 0, seeds}, request.json, out);
  }
  const double saved = std::exp(mean_logarithm(all["hyperband"]) - mean_logarithm(all["ours"]));
  print({"mltuner", "geometric mean", "hyperband / ours", "x steps", saved, 0, seeds}, request.json, out);
  return {};
}

}  // namespace lanista::bench
