#include "lanista/exec/train/trial_start.h"

#include <utility>

#include "lanista/search/study/start_race.h"

namespace lanista::train {

TrialStart::TrialStart(const TrainerInput& input)
    : weights_(input.start),
      alternatives_(input.alternative_starts),
      race_steps_(input.race_steps),
      recalibrate_(input.recipe.recalibrate) {}

TrialStart TrialStart::with_weights(std::shared_ptr<const StartWeights> weights) const {
  TrialStart out;
  out.weights_ = std::move(weights);
  out.recalibrate_ = recalibrate_;
  return out;
}

std::optional<double> TrialStart::apply_winner(std::span<const study::StartCandidate> race) {
  const std::size_t winner = study::race_winner(race).value_or(0);
  if (winner == 0 || winner > alternatives_.size()) return std::nullopt;
  recalibrate_ = alternatives_[winner - 1].recalibrate;
  return alternatives_[winner - 1].ease;
}

void TrialStart::drop_weights() {
  weights_.reset();
  for (AlternativeStartWeights& alternative : alternatives_) alternative.weights.reset();
}

}  // namespace lanista::train
