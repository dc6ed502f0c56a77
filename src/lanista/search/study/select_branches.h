#pragma once

#include <cstdint>
#include <string>

#include "lanista/search/study/study_view.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

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
