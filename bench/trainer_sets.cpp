#include "bench/trainer_sets.h"

#include <functional>
#include <map>
#include <utility>

#include "bench/arms.h"

namespace lanista::bench {
namespace {

constexpr std::int64_t kEpochBytes = std::int64_t{64} << 20;
constexpr std::uint64_t kDataSeed = 12;

// The microseconds of a call.
double microseconds_of(const auto& work) {
  const double begin = now_seconds();
  work();
  return 1e6 * (now_seconds() - begin);
}

}  // namespace

Result<TrainerSet> TrainerSet::make(const train::TrainerInput& input, std::int64_t count, data::EpochCache* epochs) {
  TrainerSet runners;
  for (std::int64_t i = 0; i < count; ++i) {
    train::TrainerInput own = input;
    own.trial = TrialId{static_cast<std::uint32_t>(i + 1)};
    own.trial_seed = static_cast<std::uint64_t>(i);
    own.data_seed = kDataSeed;
    own.epochs = epochs;
    LANISTA_ASSIGN(auto trainer, train::Trainer::create(own));
    runners.trainers_.push_back(std::move(trainer));
  }
  return runners;
}

double TrainerSet::epoch_microseconds() {
  const double all = microseconds_of([&] {
    for (train::Trainer& trainer : trainers_) {
      while (!trainer.step()) {
      }
    }
  });
  return all / static_cast<double>(trainers_.size());
}

Result<void> measure_sharing(const std::string& name, const train::TrainerInput& input, std::int64_t count,
                             std::vector<SeparateArm> separate_arms, int repeats, bool json, std::ostream& out) {
  data::EpochCache shared_epochs(*input.data, kEpochBytes, nullptr), fresh_epochs(*input.data, kEpochBytes, nullptr);
  data::EpochCache ready_epochs(*input.data, kEpochBytes, nullptr);
  LANISTA_ASSIGN(const auto augmenter, data::Augmenter::make(input.recipe.augment, input.data->spec()));
  LANISTA_ASSIGN(TrainerSet shared, TrainerSet::make(input, count, &shared_epochs));
  LANISTA_ASSIGN(TrainerSet ready, TrainerSet::make(input, count, &ready_epochs));
  const auto prepare = [&](data::EpochCache& epochs, std::int64_t epoch) {
    epochs.get(input.recipe.augment, augmenter, kDataSeed, epoch);
  };
  std::int64_t fresh = 0;
  const auto head = [&] {
    prepare(ready_epochs, ready.next_epoch());
    return ready.epoch_microseconds();
  };

  std::map<std::string, std::vector<double>> rounds;
  std::vector<Arm> arms;
  const auto add = [&](const std::string& arm, std::function<double()> run) {
    arms.push_back({arm, [run = std::move(run), &values = rounds[arm]] { return values.emplace_back(run()); }});
  };
  for (SeparateArm& each : separate_arms) add(each.arm, [&each] { return each.models.epoch_microseconds(); });
  add("shared", [&] { return shared.epoch_microseconds(); });
  add("prefix", [&] { return microseconds_of([&] { prepare(fresh_epochs, fresh++); }); });
  add("head", head);

  const auto limit = [models = static_cast<double>(count)](double prefix, double one) {
    return (prefix + models * one) / models;
  };
  std::map<std::string, double> median;
  for (const BenchRow& row : run_interleaved("prefix", name, "us/epoch", arms, repeats)) {
    median[row.arm] = row.value;
    print(row, json, out);
  }
  for (const SeparateArm& each : separate_arms) {
    if (each.models.train_loss() == shared.train_loss()) continue;
    return Error{Code::kInternal, "the losses of the arms '" + each.arm + "' and 'shared' differ", name};
  }
  print({"prefix", name, "limit", "us/epoch", limit(median["prefix"], median["head"]), 0, 1}, json, out);
  std::vector<double> of_limit;
  for (std::size_t i = 0; i < rounds["shared"].size(); ++i) {
    of_limit.push_back(100 * limit(rounds["prefix"][i], rounds["head"][i]) / rounds["shared"][i]);
  }
  print(summary("prefix", name, "of-limit", "%", of_limit), json, out);
  return {};
}

}  // namespace lanista::bench
