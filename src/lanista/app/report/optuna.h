#pragma once

#include <string>

#include "lanista/search/study/study_view.h"

namespace lanista::report {

/// Returns the study as a journal for Optuna's JournalStorage and optuna-dashboard: one JSON object a line.
///
/// `base_time` is the start of the study in Unix seconds; it is written as UTC. A trial that trained to its budget is
/// complete, a stopped one is pruned, one under way is running, and all others are failed. A trial with a missing or
/// non-finite goal is failed, too, because Optuna has no such value. A duplicate has the state and values of the trial
/// that it is equal to. Intermediate values are those of the first goal by epoch. User attributes hold the rest: state,
/// reason, rank, graph_hash, base, parent, same_as, parameters, epochs, steps, seconds, metrics.
std::string optuna_journal(const study::StudyView& view, double base_time = 0);

}  // namespace lanista::report
