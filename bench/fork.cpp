#include "bench/fork.h"

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/arms.h"
#include "lanista/base/memory_file_system.h"
#include "lanista/exec/train/branch_point.h"
#include "lanista/exec/train/fork.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/store/checkpoints.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::bench {
namespace {

struct Model {
  std::string name;
  graph::Graph graph;
};

Result<std::vector<Model>> models(const data::DataSpec& data) {
  std::vector<Model> out;
  for (const auto& [name, base] : {std::pair{"mlp-digits", "small-mlp"}, std::pair{"cnn-digits", "small-cnn"}}) {
    LANISTA_ASSIGN(mutate::BaseModel model, mutate::builtin_base(base, data.features, data.classes));
    out.push_back({name, std::move(model.graph)});
  }
  LANISTA_ASSIGN(graph::Graph wide,
                 graph::parse("%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=1024)\n"
                              "%3 = relu(%2)\n%4 = linear(%3, out=1024)\n%5 = relu(%4)\n"
                              "%6 = linear(%5, out=10)\n%7 = output(%6)\n"));
  out.push_back({"wide-mlp-digits", std::move(wide)});
  return out;
}

/// The recipe of a trial that tunes itself, with resolved options.
Result<study::Recipe> recipe_of() {
  study::Recipe recipe;
  recipe.loss = "cross_entropy";
  recipe.optimizer = "sgd";
  recipe.schedule = "constant";
  recipe.precision = "float32";
  recipe.epochs = 1'000'000;
  recipe.batch = 32;
  recipe.lr = 1e-3;
  recipe.momentum = 0.9;
  const study::TunePlugin& mltuner = study::builtin_tuners().front();
  const Options params{{"lr", "log(1e-4, 1)"}, {"momentum", "uniform(0, 0.99)"}, {"weight_decay", "log(1e-6, 1e-2)"}};
  LANISTA_ASSIGN(Options options, resolve_options({{"params", params}}, mltuner.options));
  recipe.tune = {mltuner.name, std::move(options)};
  return recipe;
}

/// An arm that gives microseconds a call.
Arm micros(std::string name, std::function<void()> call) {
  return {std::move(name), [call = std::move(call)] { return 1e6 / calls_per_second(call, kSampleSeconds); }};
}

/// Forks a paused trial: stores its state as a checkpoint and restores it for another trial.
Result<void> fork_through_store(const train::TrialRun& parent, train::TrialRun& child, const train::TrainerInput& own,
                                store::CheckpointStore& files) {
  train::TrainerState state = parent.save();
  LANISTA_ASSIGN(const std::string address,
                 files.put({std::move(state.tensors), std::move(state.facts), std::move(state.kept)}));
  LANISTA_ASSIGN(store::Checkpoint stored, files.get(address));
  LANISTA_TRY(files.remove(address));
  std::vector<study::Measurement> measured = parent.progress().measurements();
  for (study::Measurement& each : measured) each.trial = own.trial;
  return child.restore(
      train::forked_state({std::move(stored.tensors), std::move(stored.facts), {}}, own.trial_seed, measured));
}

/// Clones a state. With `written` it also makes the copy that the first update of a fork needs.
Result<void> copy_state(const program::LaneState& state, bool written) {
  LANISTA_ASSIGN(program::LaneState copy, state.clone(2));
  if (written) copy.ensure_unique();
  return {};
}

Result<void> benchmark_model(const Model& model, const data::Dataset& digits, const graph::OpTable& ops, int repeats,
                             bool json, std::ostream& out) {
  LANISTA_ASSIGN(const study::Recipe recipe, recipe_of());
  const train::TrainerInput input{.trial = TrialId{1},
                                  .model = model.graph,
                                  .recipe = recipe,
                                  .metrics = {},
                                  .trial_seed = 1,
                                  .data_seed = 1,
                                  .data = &digits,
                                  .step_ops = &ops};
  train::TrainerInput own = input;
  own.trial = TrialId{2};
  own.recipe.tune = {};
  LANISTA_ASSIGN(train::LaneGroup group, train::LaneGroup::create(input, 1));
  LANISTA_ASSIGN(train::TrialRun parent, train::TrialRun::create(input));
  LANISTA_ASSIGN(train::TrialRun child, train::TrialRun::create(own));
  LANISTA_ASSIGN(train::TrialRun trained, train::TrialRun::create(own));
  LANISTA_TRY(group.admit(parent));
  std::array<train::StepResult, 1> ends;
  const auto step = [&](train::TrialRun& run) {
    std::array<train::TrialRun*, 1> runs{&run};
    group.step(runs, ends);
  };
  while (parent.progress().epochs_done() < 1) step(parent);
  parent.release_lane();
  LANISTA_TRY(group.admit(trained));

  std::optional<Error> failed;
  const auto keep = [&](Result<void> result) {
    if (!result && !failed) failed = result.error();
  };
  const auto bytes = static_cast<std::size_t>(group.program().state_format().bytes());
  std::vector<std::byte> from(bytes, std::byte{1}), to(bytes, std::byte{2});
  LANISTA_ASSIGN(const program::LaneState state, group.program().make_state(1));
  const space::Sample setting{{"lr", 0.01}};
  MemoryFileSystem disk;
  store::CheckpointStore files(disk, "/fork");
  const std::vector<Arm> arms{micros("copy",
                                     [&] {
                                       std::memcpy(to.data(), from.data(), bytes);
                                       from[0] = to[bytes - 1];  // keeps the copy from being optimised away
                                     }),
                              micros("state", [&] { keep(copy_state(state, false)); }),
                              micros("state-written", [&] { keep(copy_state(state, true)); }),
                              micros("fork",
                                     [&] {
                                       auto fork = train::BranchPoint(parent).fork(setting);
                                       keep(fork ? Result<void>() : Result<void>(fork.error()));
                                     }),
                              micros("park", [&] { keep(fork_through_store(parent, child, own, files)); }),
                              micros("step", [&] { step(trained); })};
  const std::vector<std::vector<double>> all = run_rounds(arms, repeats);
  if (failed) return *failed;
  if (!ends[0].failure.empty()) return Error{Code::kInternal, ends[0].failure, "fork"};
  const std::string name = model.name + "/" + std::to_string(bytes) + "-bytes";
  for (std::size_t i = 0; i < arms.size(); ++i) print(summary("fork", name, arms[i].name, "us", all[i]), json, out);
  const auto epoch = static_cast<double>(parent.definition().epochs.length);
  const auto ratio = [&](const std::string& arm, const std::string& unit, std::size_t a, std::size_t b, double scale) {
    std::vector<double> each;
    for (std::size_t r = 0; r < all[a].size(); ++r) each.push_back(scale * all[a][r] / all[b][r]);
    print(summary("fork", name, arm, unit, each), json, out);
  };
  for (const std::size_t arm : {1U, 2U, 3U}) ratio(arms[arm].name + "/copy", "times", arm, 0, 1);
  ratio("fork-each-epoch", "%", 3, 5, 100 / epoch);
  ratio("park-each-epoch", "%", 4, 5, 100 / epoch);
  return {};
}

}  // namespace

Result<void> fork(int repeats, bool json, std::ostream& out) {
  LANISTA_ASSIGN(const data::Dataset digits, data::open({}, ".", real_file_system()));
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  LANISTA_ASSIGN(const std::vector<Model> all, models(digits.spec()));
  for (const Model& model : all) LANISTA_TRY(benchmark_model(model, digits, ops, repeats, json, out));
  return {};
}

}  // namespace lanista::bench
