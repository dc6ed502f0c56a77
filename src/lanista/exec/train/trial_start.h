#pragma once

#include <cstdint>
#include <memory>

#include "lanista/exec/train/start_weights.h"
#include "lanista/exec/train/trainer_input.h"

namespace lanista::train {

/// The start of a trial: its first weights. A value; copies share them.
class TrialStart {
 public:
  TrialStart() = default;  ///< Random values.
  /// Takes weights and recalibration from the input of a trial.
  explicit TrialStart(const TrainerInput& input) : weights_(input.start), recalibrate_(input.recipe.recalibrate) {}

  /// The first weights; null: random values, or the weights were freed after the first step.
  const std::shared_ptr<const StartWeights>& weights() const { return weights_; }
  /// Number of batches that renew running statistics before the first epoch is measured.
  std::int64_t recalibrate() const { return recalibrate_; }

  /// Returns the start of a copy of the run, without the first weights.
  TrialStart without_weights() const {
    TrialStart out;
    out.recalibrate_ = recalibrate_;
    return out;
  }
  /// Frees the weights, which are not needed after the first step.
  void drop_weights() { weights_.reset(); }

 private:
  std::shared_ptr<const StartWeights> weights_;
  std::int64_t recalibrate_ = 0;
};

}  // namespace lanista::train
