// Trials get the same bits alone and in a lane group. Random populations of mutated models are trained in three ways:
// one by one; packed, with a program for each model, in turns; fused, with trials of one structure as lanes of one
// program, in random groups. Weights and measurements must be equal, bit by bit.
//
//   population_proof [POPULATIONS [FIRST]]      500 populations from number 0 by default
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/model/autodiff/optimizer.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/program_key.h"

namespace lanista {
namespace {

constexpr std::int64_t kSteps = 4;
constexpr std::int64_t kBatch = 420;  // three steps an epoch, so that every trial is measured once

struct PopulationWorld {
  data::Dataset digits;
  graph::OpTable ops;
  mutate::ModelSpace space;

  static Result<PopulationWorld> make() {
    LANISTA_ASSIGN(auto digits, data::open({}, ".", real_file_system()));
    std::vector<std::shared_ptr<const mutate::Mutator>> mutators;
    for (const auto& plugin : mutate::builtin_mutators()) {
      LANISTA_ASSIGN(const auto options, resolve_options(plugin.example, plugin.options));
      LANISTA_ASSIGN(auto made, plugin.make(options));
      mutators.push_back(std::move(made));
    }
    std::vector<mutate::BaseModel> bases;
    for (const auto* name : {"small-mlp", "small-cnn"}) {
      LANISTA_ASSIGN(auto base, mutate::builtin_base(name, digits.spec().features, 10));
      bases.push_back(std::move(base));
    }
    LANISTA_ASSIGN(auto space,
                   mutate::ModelSpace::make(graph::builtin_ops(), bases, mutators, {}, {.params = 1e5, .flops = 1e6}));
    return PopulationWorld{std::move(digits), autodiff::training_ops(graph::builtin_ops()), std::move(space)};
  }
};

study::Recipe random_recipe(Rng& rng) {
  study::Recipe recipe;
  recipe.loss = "cross_entropy";
  recipe.optimizer = autodiff::optimizers()[rng.below(autodiff::optimizers().size())].name;
  recipe.schedule = std::array{"constant", "step", "cosine"}[rng.below(3)];
  recipe.precision = rng.below(8) == 0 ? "float64" : "float32";
  recipe.step_every = 1;
  recipe.step_factor = 0.5;
  recipe.epochs = 2;
  recipe.batch = kBatch;
  recipe.lr = rng.uniform(0.0005, 0.05);
  recipe.momentum = rng.bernoulli(0.5) ? 0.9 : 0;
  recipe.weight_decay = rng.bernoulli(0.5) ? 0.01 : 0;
  recipe.clip_norm = rng.bernoulli(0.3) ? 1 : 0;
  recipe.label_smoothing = rng.bernoulli(0.3) ? 0.1 : 0;
  recipe.beta1 = 0.9;
  recipe.beta2 = 0.999;
  recipe.eps = 1e-8;
  return recipe;
}

/// Returns 2 to 12 trials with mutations of one base, of which some share their structure. Most share a recipe too.
Result<std::vector<train::TrainerInput>> population(const PopulationWorld& world, const Rng& seed) {
  Rng rng = seed.split("population");
  const auto base = static_cast<std::int64_t>(rng.below(world.space.bases().size()));
  std::vector<mutate::Candidate> models{world.space.base(base)};
  const study::Recipe recipe = random_recipe(rng);
  std::vector<train::TrainerInput> trials;
  const auto count = 2 + rng.below(11);
  for (std::uint32_t id = 1; id <= count; ++id) {
    if (rng.bernoulli(0.7)) {
      const auto& parent = models[rng.below(models.size())];
      auto child = world.space.mutate(parent, 1 + static_cast<std::int64_t>(rng.below(3)), rng.split(id));
      if (child) models.push_back(*std::move(child));
    }
    study::Recipe own = rng.bernoulli(0.8) ? recipe : random_recipe(rng);
    own.lr = rng.uniform(0.0005, 0.05);
    trials.push_back({.trial = TrialId{id},
                      .model = models[rng.below(models.size())].graph,
                      .recipe = own,
                      .metrics = {},
                      .trial_seed = rng.next(),
                      .data_seed = seed.key(),
                      .data = &world.digits,
                      .step_ops = &world.ops});
  }
  return trials;
}

using States = std::vector<train::TrainerState>;

Result<States> train_one_by_one(const std::vector<train::TrainerInput>& trials) {
  States states;
  for (const auto& trial : trials) {
    LANISTA_ASSIGN(auto trainer, train::Trainer::create(trial));
    for (std::int64_t step = 0; step < kSteps; ++step) trainer.step();
    states.push_back(trainer.save());
  }
  return states;
}

/// Trains in lane groups of up to `lanes` trials. Before each step, the trials of the group are sampled.
Result<States> train_as_lanes(const std::vector<train::TrainerInput>& trials, std::int64_t lanes, Rng rng) {
  std::map<Digest, train::LaneGroup> groups;
  std::vector<train::TrialRun> runs;
  for (const auto& trial : trials) {
    LANISTA_ASSIGN(auto run, train::TrialRun::create(trial));
    if (!groups.contains(run.definition().key)) {
      LANISTA_ASSIGN(auto group, train::LaneGroup::create(trial, lanes));
      groups.emplace(run.definition().key, std::move(group));
    }
    LANISTA_TRY(groups.at(run.definition().key).admit(run));
    runs.push_back(std::move(run));
  }
  const auto is_done = [](const train::TrialRun& run) { return run.progress().step_count() == kSteps; };
  while (!std::ranges::all_of(runs, is_done)) {
    const train::TrialRun& first = runs[rng.below(runs.size())];
    if (is_done(first)) continue;
    std::vector<train::TrialRun*> work;
    for (train::TrialRun& run : runs) {
      const bool joins =
          &run == &first || (run.definition().key == first.definition().key && !is_done(run) && rng.bernoulli(0.8));
      if (joins && static_cast<std::int64_t>(work.size()) < lanes) work.push_back(&run);
    }
    std::vector<train::StepResult> ends(work.size());
    groups.at(first.definition().key).step(work, ends);
    for (const auto& end : ends) {
      if (!end.failure.empty()) return Error{Code::kInternal, end.failure, ""};
    }
  }
  States states;
  for (const auto& run : runs) states.push_back(run.save());
  return states;
}

bool equal(const States& a, const States& b) {
  return std::ranges::equal(a, b,
                            [](const auto& x, const auto& y) { return x.facts == y.facts && x.tensors == y.tensors; });
}

struct Tally {
  std::size_t trials = 0, structures = 0, different = 0;
};

Result<void> check_population(const PopulationWorld& world, std::uint64_t number, Tally& tally) {
  const Rng seed(number);
  LANISTA_ASSIGN(const auto trials, population(world, seed));
  LANISTA_ASSIGN(const States single, train_one_by_one(trials));
  LANISTA_ASSIGN(const States packed, train_as_lanes(trials, 1, seed.split("packed")));
  LANISTA_ASSIGN(const States fused, train_as_lanes(trials, 12, seed.split("fused")));
  std::map<Digest, int> structures;
  for (const auto& trial : trials)
    ++structures[study::program_key(study::structure_key(trial.model, world.ops), trial.recipe)];
  tally.trials += trials.size();
  tally.structures += structures.size();
  if (equal(single, packed) && equal(single, fused)) return {};
  ++tally.different;
  return Error{Code::kInternal, std::string("other results when ") + (equal(single, packed) ? "fused" : "packed"),
               "population " + std::to_string(number)};
}

int prove(std::uint64_t count, std::uint64_t first) {
  auto world = PopulationWorld::make();
  if (!world) {
    std::fprintf(stderr, "population_proof: %s\n", world.error().text().c_str());
    return 1;
  }
  kernels::set_flush_to_zero();
  Tally tally;
  bool failed = false;
  for (std::uint64_t i = first; i < first + count; ++i) {
    if (auto done = check_population(*world, i, tally); !done) {
      failed = true;
      std::fprintf(stderr, "population_proof: %s\n", done.error().text().c_str());
    }
  }
  std::printf("%d populations, %d trials of %d structures in them: %d populations differ\n", static_cast<int>(count),
              static_cast<int>(tally.trials), static_cast<int>(tally.structures), static_cast<int>(tally.different));
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace lanista

int main(int argc, char** argv) {
  const auto number = [&](int i, std::uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  return lanista::prove(number(1, 500), number(2, 0));
}
