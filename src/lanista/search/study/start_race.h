#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanista/search/study/study_view.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

/// Returns the starts of a proposal: its own, then the rivals of its race. They belong to `proposal`. Random values are
/// not in the list.
std::vector<const Start*> start_parents_of(const Proposal& proposal);

/// Returns the index in `race` of the candidate from which the trial continued. nullopt: there was no race, or all
/// candidates diverged.
std::optional<std::size_t> race_winner(std::span<const StartCandidate> race);

/// Returns the start with which the trial continued; null: random values. Before the first measurement, and if no
/// candidate won, it is the start of the proposal.
const Start* winning_start(const TrialView& trial);

/// Returns the number of training steps of the branches from which the trial did not continue.
template <class Branches>
std::int64_t discarded_steps(const Branches& branches) {
  std::int64_t steps = 0;
  for (const auto& branch : branches) steps += branch.kept ? 0 : branch.steps;
  return steps;
}

/// Returns a sentence for people on the results and the steps of a study's start races. Empty: there were none.
std::string races_text(const StudyView& view);

/// Returns the number of training steps of all candidates of a study that lost. StudyView::steps includes them.
std::int64_t discarded_race_steps(const StudyView& view);

/// Returns inherited_text of the winning start. If that is not the start of the proposal, the text also has the start
/// that it beat: "random values, better after 10 steps than trial 3 as of epoch 2: …". Empty for a trial without a
/// start.
std::string start_summary(const TrialView& trial);
/// Returns the candidates of a trial's start race, one a line, with the winner marked by ">". Empty: there was no race,
/// or no epoch is measured.
std::string race_text(const TrialView& trial);

}  // namespace lanista::study
