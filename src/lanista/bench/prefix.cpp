#include "lanista/bench/prefix.h"

#include <ostream>
#include <utility>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/bench/arms.h"
#include "lanista/data/epoch_cache.h"
#include "lanista/kernels/kernels.h"
#include "lanista/mutate/model_space.h"
#include "lanista/step/training_step.h"
#include "lanista/train/trainer.h"

namespace lanista::bench {
namespace {

constexpr std::int64_t kEpochBytes = std::int64_t{64} << 20;
constexpr std::uint64_t kDataSeed = 12;

/// Trainers of one model on the digits, each with weights of its own, that go on from epoch to epoch.
class Runners {
 public:
  Runners(const data::Dataset& data, const graph::OpTable& ops, study::Recipe recipe, graph::Graph model)
      : data_(data), ops_(ops), recipe_(std::move(recipe)), model_(std::move(model)) {}

  Result<void> add(std::int64_t count, data::EpochCache* epochs) {
    for (std::int64_t i = 0; i < count; ++i) {
      LANISTA_ASSIGN(auto trainer, train::Trainer::create({.trial = TrialId{static_cast<std::uint32_t>(i + 1)},
                                                           .model = model_,
                                                           .recipe = recipe_,
                                                           .metrics = {},
                                                           .trial_seed = static_cast<std::uint64_t>(i),
                                                           .data_seed = kDataSeed,
                                                           .data = &data_,
                                                           .step_ops = &ops_,
                                                           .epochs = epochs}));
      trainers_.push_back(std::move(trainer));
    }
    return {};
  }

  std::int64_t next_epoch() const { return trainers_.front().epochs_done(); }
  double microseconds_of_an_epoch() {
    const double begin = now_seconds();
    for (train::Trainer& trainer : trainers_) {
      while (!trainer.step()) {
      }
    }
    return 1e6 * (now_seconds() - begin) / static_cast<double>(trainers_.size());
  }
  /// Losses of the last epoch, to see that arms do the same.
  double train_loss() const { return trainers_.back().measurements().back().metrics.at("train_loss"); }

 private:
  const data::Dataset& data_;
  const graph::OpTable& ops_;
  study::Recipe recipe_;
  graph::Graph model_;
  std::vector<train::Trainer> trainers_;
};

study::Recipe recipe() {
  study::Recipe recipe;
  recipe.loss = "cross_entropy";
  recipe.optimizer = "sgd";
  recipe.schedule = "constant";
  recipe.precision = "float32";
  recipe.batch = 32;
  recipe.lr = 0.05;
  recipe.momentum = 0.9;
  recipe.epochs = 1'000'000;
  recipe.augment = {{"crop", {{"pad", 1}}}, {"noise", {{"std", 0.1}}}};
  return recipe;
}

Result<void> run_case(const std::string& base, const data::Dataset& data, int repeats, bool json, std::ostream& out) {
  const graph::OpTable ops = step::training_ops(graph::builtin_ops());
  LANISTA_ASSIGN(const auto model, mutate::builtin_base(base, {{1, 8, 8}}, 10));
  const study::Recipe settings = recipe();
  LANISTA_ASSIGN(const auto augmenter, data::Augmenter::make(settings.augment, data.spec()));
  for (const std::int64_t count : {1, 2, 4, 8, 16}) {
    data::EpochCache shared_epochs(data, kEpochBytes, nullptr), ready_epochs(data, kEpochBytes, nullptr);
    data::EpochCache fresh_epochs(data, kEpochBytes, nullptr);
    const auto none = [&] { return Runners(data, ops, settings, model.graph); };
    Runners apart = none(), shared = none(), ready = none();
    LANISTA_TRY(apart.add(count, nullptr));
    LANISTA_TRY(shared.add(count, &shared_epochs));
    LANISTA_TRY(ready.add(1, &ready_epochs));
    std::int64_t fresh = 0;
    const std::vector<Arm> arms{{"apart", [&] { return apart.microseconds_of_an_epoch(); }},
                                {"shared", [&] { return shared.microseconds_of_an_epoch(); }},
                                {"prefix",
                                 [&] {
                                   const double begin = now_seconds();
                                   fresh_epochs.get(settings.augment, augmenter, kDataSeed, fresh++);
                                   return 1e6 * (now_seconds() - begin);
                                 }},
                                {"head", [&] {
                                   ready_epochs.get(settings.augment, augmenter, kDataSeed, ready.next_epoch());
                                   return ready.microseconds_of_an_epoch();
                                 }}};
    const std::string name = base + "/" + std::to_string(count);
    const std::vector<Row> rows = interleave("prefix", name, "us/epoch", arms, repeats);
    if (apart.train_loss() != shared.train_loss()) {
      return Error{Code::kInternal, "models on shared epochs train otherwise than apart", name};
    }
    for (const Row& row : rows) print(row, json, out);
    const double models = static_cast<double>(count);
    print({"prefix", name, "limit", "us/epoch", (rows[2].value + models * rows[3].value) / models, 0, 1}, json, out);
  }
  return {};
}

}  // namespace

Result<void> prefix(int repeats, bool json, std::ostream& out) {
  kernels::set_flush_to_zero();
  LANISTA_ASSIGN(const auto digits, data::open({}, ".", real_file_system()));
  for (const char* base : {"small-mlp", "small-cnn"}) LANISTA_TRY(run_case(base, digits, repeats, json, out));
  return {};
}

}  // namespace lanista::bench
