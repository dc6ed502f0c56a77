#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lanista/search/study/trial.h"
#include "lanista/search/study/view.h"

namespace lanista::study {

/// Whether a trial selects its examples from a step on (train.select: auto).
struct SelectingAt {
  std::int64_t step = 0;
  bool selects = false;
  bool operator==(const SelectingAt&) const = default;
};
/// What a trial with these measurements found, by step: to be played back.
std::vector<SelectingAt> selecting_of(std::span<const Measurement> measurements);
/// As an option of train.select: a list of {step, selects}.
nlohmann::json selecting_json(std::span<const SelectingAt> found);
/// The inverse. Errors: kInvalidArgument (steps that do not rise, what is missing).
Result<std::vector<SelectingAt>> read_selecting(const nlohmann::json& list);

/// Steps of branches that were given up: trained, and no part of the trial.
std::int64_t steps_given_up(std::span<const SelectBranch> branches);
/// Of all trials of a study. They are in StudyView::steps.
std::int64_t select_steps_given_up(const StudyView& view);

/// How a study's checks of train.select ended and what they took, in a sentence; empty: there was none.
std::string selecting_text(const StudyView& view);
/// A line a branch, the kept one marked, under each epoch before which they ran; empty: there were none.
std::string selecting_text(const TrialView& trial);

}  // namespace lanista::study
