#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/io/data/epoch_cache.h"

namespace lanista::bench {

/// Trainers of one model with different weights. They train their next epoch one after the other.
class TrainerSet {
 public:
  /// `epochs` has the prepared epochs that the trainers share; null if they share none. Errors: those of
  /// train::Trainer.
  static Result<TrainerSet> make(const train::TrainerInput& input, std::int64_t count, data::EpochCache* epochs);

  std::int64_t next_epoch() const { return trainers_.front().epochs_done(); }
  /// Trains one epoch of each model and returns the microseconds a model.
  double epoch_microseconds();
  /// Training loss of the last model in its last epoch, for comparing arms.
  double train_loss() const { return trainers_.back().measurements().back().metrics.at("train_loss"); }

 private:
  std::vector<train::Trainer> trainers_;
};

/// An arm with models that do not share prepared epochs.
struct SeparateArm {
  std::string arm;    ///< As printed.
  TrainerSet models;  ///< Models of the arm.
};

/// Measures `count` models of `input` that share prepared epochs, and prints microseconds a model and epoch.
///
/// The arms are:
/// - those of `separate_arms`
/// - shared: the models share a data::EpochCache
/// - prefix: the preparation of an epoch alone
/// - head: an epoch of a model on prepared samples
///
/// `limit` is the best possible time, (prefix + K head) / K. `of-limit` is the limit over `shared` in percent, from the
/// values of each round, so that a slow machine slows both. Errors: those of train::Trainer; kInternal if an arm trains
/// differently from `shared`.
Result<void> measure_sharing(const std::string& name, const train::TrainerInput& input, std::int64_t count,
                             std::vector<SeparateArm> separate_arms, int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
