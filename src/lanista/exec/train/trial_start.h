#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lanista/exec/train/start_weights.h"
#include "lanista/exec/train/trainer_input.h"
#include "lanista/search/study/trial.h"

namespace lanista::train {

/// The start of a trial: its first weights, and the alternatives of its start race. A value.
class TrialStart {
 public:
  TrialStart() = default;  ///< Random values, no race.
  /// Takes the start of a trial from its input.
  explicit TrialStart(const TrainerInput& input);

  /// The first weights; null: random values, or the trial has done steps.
  const std::shared_ptr<const StartWeights>& weights() const { return weights_; }
  /// Batches that renew running statistics before the first epoch is measured.
  std::int64_t recalibrate() const { return recalibrate_; }
  /// Steps of the start race; 0: no race.
  std::int64_t race_steps() const { return race_steps_; }
  /// Number of start candidates: the start and its alternatives.
  std::int64_t num_candidates() const { return std::ssize(alternatives_) + 1; }
  /// Start candidate `number` - 1 of the alternatives; candidate 0 is the start itself.
  const AlternativeStartWeights& alternative(std::int64_t number) const {
    return alternatives_[static_cast<std::size_t>(number - 1)];
  }

  /// Returns the start of a copy of the run with these weights, which has no race.
  TrialStart with_weights(std::shared_ptr<const StartWeights> weights) const;
  /// Takes over the recalibration of the winner of a race. Returns the ease of the winner; nothing if it is the start.
  std::optional<double> apply_winner(std::span<const study::StartCandidate> race);
  /// Frees all weights, which are not needed after the first step.
  void drop_weights();

 private:
  std::shared_ptr<const StartWeights> weights_;
  std::vector<AlternativeStartWeights> alternatives_;
  std::int64_t race_steps_ = 0;
  std::int64_t recalibrate_ = 0;
};

}  // namespace lanista::train
