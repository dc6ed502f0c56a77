#include "bench/folds.h"

#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "bench/arms.h"
#include "bench/recipe.h"
#include "lanista/base/file_system.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/io/data/epoch_cache.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/mutate/model_space.h"

namespace lanista::bench {
namespace {

constexpr std::int64_t kFolds = 5;
constexpr std::int64_t kEpochBytesOfFolds = std::int64_t{64} << 20;

using Caches = std::vector<std::unique_ptr<data::EpochCache>>;

/// The input of a fold's training: `input` with the data and the seed of the fold.
train::TrainerInput of_fold(const train::TrainerInput& input, const data::Dataset& data, std::int64_t fold,
                            data::EpochCache* epochs) {
  train::TrainerInput own = input;
  own.trial = TrialId{static_cast<std::uint32_t>(fold + 1)};
  own.trial_seed = static_cast<std::uint64_t>(fold);
  own.data_seed = 12;
  own.data = &data.training(fold);
  own.epochs = epochs;
  return own;
}

/// The folds as lanes of one group, which share prepared samples.
struct FoldsAsLanes {
  std::unique_ptr<data::EpochCache> fold_union;
  Caches caches;
  std::vector<train::TrialRun> runs;
  std::unique_ptr<train::LaneGroup> group;

  static Result<FoldsAsLanes> make(const train::TrainerInput& like, const data::Dataset& data) {
    FoldsAsLanes out;
    out.fold_union = std::make_unique<data::EpochCache>(*data.fold_union(), kEpochBytesOfFolds, nullptr);
    for (std::int64_t fold = 0; fold < kFolds; ++fold) {
      out.caches.push_back(
          std::make_unique<data::EpochCache>(data.training(fold), kEpochBytesOfFolds, nullptr, out.fold_union.get()));
      LANISTA_ASSIGN(auto run, train::TrialRun::create(of_fold(like, data, fold, out.caches.back().get())));
      out.runs.push_back(std::move(run));
    }
    LANISTA_ASSIGN(auto group, train::LaneGroup::create(of_fold(like, data, 0, nullptr), kFolds));
    out.group = std::make_unique<train::LaneGroup>(std::move(group));
    for (train::TrialRun& run : out.runs) LANISTA_TRY(out.group->admit(run));
    return out;
  }

  /// Trains the next epoch of all folds and returns its milliseconds.
  double epoch() {
    const double begin = now_seconds();
    const std::int64_t requested = runs.front().progress().epochs_done() + 1;
    std::vector<train::TrialRun*> left;
    std::vector<train::StepResult> ends;
    do {
      left.clear();
      for (train::TrialRun& run : runs) {
        if (run.progress().epochs_done() < requested) left.push_back(&run);
      }
      ends.resize(left.size());
      if (!left.empty()) group->advance(left, 1024, ends);
    } while (!left.empty());
    return 1e3 * (now_seconds() - begin);
  }
  double loss() const { return runs.back().progress().measurements().back().metrics.at("train_loss"); }
};

/// The folds as separate trials, which share nothing.
struct SeparateTrials {
  Caches caches;
  std::vector<train::Trainer> trainers;

  static Result<SeparateTrials> make(const train::TrainerInput& like, const data::Dataset& data) {
    SeparateTrials out;
    for (std::int64_t fold = 0; fold < kFolds; ++fold) {
      out.caches.push_back(std::make_unique<data::EpochCache>(data.training(fold), kEpochBytesOfFolds, nullptr));
      LANISTA_ASSIGN(auto trainer, train::Trainer::create(of_fold(like, data, fold, out.caches.back().get())));
      out.trainers.push_back(std::move(trainer));
    }
    return out;
  }

  /// Trains the next epoch of all folds and returns its milliseconds.
  double epoch() {
    const double begin = now_seconds();
    for (train::Trainer& trainer : trainers) {
      while (!trainer.step()) {
      }
    }
    return 1e3 * (now_seconds() - begin);
  }
  double loss() const { return trainers.back().measurements().back().metrics.at("train_loss"); }
};

Result<void> measure_folds(const std::string& name, const train::TrainerInput& like, const data::Dataset& data,
                           int repeats, bool json, std::ostream& out) {
  LANISTA_ASSIGN(FoldsAsLanes lanes, FoldsAsLanes::make(like, data));
  LANISTA_ASSIGN(SeparateTrials single, SeparateTrials::make(like, data));
  const std::vector<Arm> arms{{"folds", [&] { return lanes.epoch(); }}, {"single", [&] { return single.epoch(); }}};
  const auto values = run_rounds(arms, repeats);
  if (lanes.loss() != single.loss())
    return Error{Code::kInternal, "the losses of folds as lanes and alone differ", name};
  std::vector<double> quotients;
  for (std::size_t i = 0; i < values[0].size(); ++i) quotients.push_back(values[1][i] / values[0][i]);
  print(summary("folds", name, "folds", "ms/epoch", values[0]), json, out);
  print(summary("folds", name, "single", "ms/epoch", values[1]), json, out);
  print(summary("folds", name, "single/folds", "x", quotients), json, out);
  return {};
}

}  // namespace

Result<void> folds(int repeats, bool json, std::ostream& out) {
  kernels::set_flush_to_zero();
  study::DataConfig config;
  config.folds = kFolds;
  LANISTA_ASSIGN(const auto digits, data::open(config, ".", real_file_system()));
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  const std::vector<std::pair<std::string, std::vector<study::PluginConfig>>> augmentations{
      {"plain", {}},
      {"crop", {{"crop", {{"pad", 1}}}}},
      {"crop-erase", {{"crop", {{"pad", 1}}}, {"erase", Options::object()}}},
      {"crop-noise", {{"crop", {{"pad", 1}}}, {"noise", {{"std", 0.1}}}}}};
  for (const char* base : {"small-mlp", "small-cnn"}) {
    LANISTA_ASSIGN(const auto model, mutate::builtin_base(base, {{1, 8, 8}}, 10));
    for (const auto& [name, augment] : augmentations) {
      train::TrainerInput like{.trial = {},
                               .model = model.graph,
                               .recipe = plain_recipe(),
                               .metrics = {},
                               .data = &digits,
                               .step_ops = &ops};
      like.recipe.augment = augment;
      LANISTA_TRY(measure_folds(std::string(base) + "-" + name + "/5", like, digits, repeats, json, out));
    }
  }
  return {};
}

}  // namespace lanista::bench
