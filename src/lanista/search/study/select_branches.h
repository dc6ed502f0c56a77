#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lanista/search/study/study_view.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

/// From step `step` on, a trial selects its examples or trains on all (train.select: auto).
struct SelectionChange {
  std::int64_t step = 0;  ///< First training step of the change, from 0.
  bool selects = false;   ///< True: it selects its examples; false: it trains on all rows.
  bool operator==(const SelectionChange&) const = default;
};
/// Returns the results of the selection comparisons in these measurements, by rising step. A replay of the trial uses
/// them.
std::vector<SelectionChange> selection_changes(std::span<const Measurement> measurements);
/// Returns the changes as an option of train.select: a list of {step, selects}.
nlohmann::json selection_changes_json(std::span<const SelectionChange> found);
/// Reads what selection_changes_json returns. Errors: kInvalidArgument (steps that are below 0 or do not rise; missing,
/// further or invalid members).
Result<std::vector<SelectionChange>> read_selection_changes(const nlohmann::json& list);

/// Returns the number of training steps of branches from which the trial did not continue.
std::int64_t discarded_steps(std::span<const SelectBranch> branches);
/// Returns the number of discarded training steps of all selection comparisons of a study. StudyView::steps includes
/// them.
std::int64_t discarded_selection_steps(const StudyView& view);

/// Returns a sentence for people on the results and the steps of a study's selection comparisons. Empty: there were
/// none.
std::string selection_text(const StudyView& view);
/// Returns the branches of a trial's selection comparisons, one a line, under a heading for each epoch; the kept one is
/// marked. Empty: there were none.
std::string selection_text(const TrialView& trial);

}  // namespace lanista::study
