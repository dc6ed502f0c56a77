#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/io/data/epoch_cache.h"

namespace lanista::bench {

/// Trainers of one model, each with weights of its own, that go on from epoch to epoch, one after the other.
class TrainerSet {
 public:
  /// `epochs` may be null. Errors: those of train::Trainer.
  static Result<TrainerSet> make(const train::TrainerInput& input, std::int64_t count, data::EpochCache* epochs);

  std::int64_t next_epoch() const { return trainers_.front().epochs_done(); }
  double epoch_microseconds();  ///< a model
  /// Loss of the last epoch, to see that arms do the same.
  double train_loss() const { return trainers_.back().measurements().back().metrics.at("train_loss"); }

 private:
  std::vector<train::Trainer> trainers_;
};

/// An arm of models that do not share an epoch.
struct SeparateArm {
  std::string arm;
  TrainerSet models;
};

/// Measures `count` models of `input` that share what a data::EpochCache prepares, and prints microseconds a model and
/// epoch. Arms: those of `separate_arms`; `shared`; `prefix`, the preparation of an epoch alone; `head`, an epoch of
/// the models on samples that lie ready. Then `limit`, what sharing can reach: (prefix + K head) / K; and `of-limit`,
/// how near `shared` comes to it, from the values of each round, so that a machine that is slow for a while is slow for
/// both. Errors: those of train::Trainer; kInternal (models apart train otherwise than models that share).
Result<void> measure_sharing(const std::string& name, const train::TrainerInput& input, std::int64_t count,
                             std::vector<SeparateArm> separate_arms, int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
