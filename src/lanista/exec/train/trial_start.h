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

/// The start of a trial: its first weights, and the alternatives of its start race. A value; copies share the weights.
class TrialStart {
 public:
  TrialStart() = default;  ///< Random values, no race.
  /// Takes weights, alternatives, race steps and recalibration from the input of a trial.
  explicit TrialStart(const TrainerInput& input);

  /// The first weights; null: random values, or the weights were freed after the first step.
  const std::shared_ptr<const StartWeights>& weights() const { return weights_; }
  /// Number of batches that renew running statistics before the first epoch is measured.
  std::int64_t recalibrate() const { return recalibrate_; }
  /// Steps that each candidate of the start race trains; 0: no race.
  std::int64_t race_steps() const { return race_steps_; }
  /// Number of start candidates: the start and its alternatives.
  std::int64_t num_candidates() const { return std::ssize(alternatives_) + 1; }
  /// The alternative with candidate number `number`, from 1 to num_candidates() - 1; candidate 0 is the start itself.
  const AlternativeStartWeights& alternative(std::int64_t number) const {
    return alternatives_[static_cast<std::size_t>(number - 1)];
  }

  /// Returns the start of a copy of the run with these first weights, without a race.
  TrialStart with_weights(std::shared_ptr<const StartWeights> weights) const;
  /// Replaces the recalibration by that of the candidate that won `race`. Returns the ease of that candidate; nothing
  /// if the start itself won, or if all candidates diverged.
  std::optional<double> apply_winner(std::span<const study::StartCandidate> race);
  /// Frees the weights of the start and of all alternatives, which are not needed after the first step.
  void drop_weights();

 private:
  std::shared_ptr<const StartWeights> weights_;
  std::vector<AlternativeStartWeights> alternatives_;
  std::int64_t race_steps_ = 0;
  std::int64_t recalibrate_ = 0;
};

}  // namespace lanista::train
