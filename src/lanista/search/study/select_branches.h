#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lanista/search/study/study_view.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

/// Whether a trial selects its examples from a step on (train.select: auto).
struct SelectionChange {
  std::int64_t step = 0;
  bool selects = false;
  bool operator==(const SelectionChange&) const = default;
};
/// What a trial with these measurements found, by step: to be played back.
std::vector<SelectionChange> selection_changes(std::span<const Measurement> measurements);
/// As an option of train.select: a list of {step, selects}.
nlohmann::json selection_changes_json(std::span<const SelectionChange> found);
/// The inverse. Errors: kInvalidArgument (steps that do not rise, what is missing).
Result<std::vector<SelectionChange>> read_selection_changes(const nlohmann::json& list);

/// Steps of branches that were given up: trained, and no part of the trial.
std::int64_t discarded_steps(std::span<const SelectBranch> branches);
/// Of all trials of a study. They are in StudyView::steps.
std::int64_t discarded_selection_steps(const StudyView& view);

/// How a study's checks of train.select ended and what they took, in a sentence; empty: there was none.
std::string selection_text(const StudyView& view);
/// A line a branch, the kept one marked, under each epoch before which they ran; empty: there were none.
std::string selection_text(const TrialView& trial);

}  // namespace lanista::study
