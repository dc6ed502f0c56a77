#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanista/search/study/study_view.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

/// Everything that a trial may begin with beside random values: its start and those that race it.
std::vector<const Start*> start_parents_of(const Proposal& proposal);

/// Which racer went on, as told; nullopt: none did, since all came to no number, or there was no race.
std::optional<std::size_t> race_winner(std::span<const StartCandidate> race);

/// What the trial began with, behind its race; null: random values. Until its first epoch is measured, and where nobody
/// won, the start that was chosen.
const Start* winning_start(const TrialView& trial);

/// Steps of racers that were given up: trained, and no part of the trial.
std::int64_t discarded_steps(std::span<const StartCandidate> race);
/// The same of a race that is still to come.
std::int64_t discarded_steps(const StartRace& race);

/// How a study's races ended and what they took, in a sentence; empty: there was none.
std::string races_text(const StudyView& view);

/// The steps that went into a study's races and no trial. They are in StudyView::steps.
std::int64_t discarded_race_steps(const StudyView& view);

/// inherited_text of what the trial began with, and what it was better than: "random values, better after 10 steps than
/// trial 3 as of epoch 2: …". Empty of a trial without a start.
std::string start_summary(const TrialView& trial);
/// A line a racer, the kept one marked; empty: there was no race, or nothing is told of it yet.
std::string race_text(const TrialView& trial);

}  // namespace lanista::study
