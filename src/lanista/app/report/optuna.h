#pragma once

#include <string>

#include "lanista/search/study/study_view.h"

namespace lanista::report {

/// Returns the study as a journal for Optuna's JournalStorage and optuna-dashboard: one JSON object a line.
///
/// `base_time` is the start of the study in Unix seconds; it is written as UTC. A trial that trained to its budget is
/// complete. It is failed if a goal is missing or not finite, because Optuna has no such value. A stopped one is
/// pruned. One without an outcome, also a paused one, is running. All others are failed. A duplicate has the state and
/// values of the trial that it is equal to; it is failed if that one has no outcome. Intermediate values are those of
/// the first goal by epoch. User attributes hold the rest: state, reason, rank, graph_hash, base, parent, same_as,
/// parameters, epochs, steps, kept_epoch, seconds, metrics, tunes, implied_by, rule. System attributes hold the
/// constraints. A study without a goal is a bug of the caller.
std::string optuna_journal(const study::StudyView& view, double base_time = 0);

}  // namespace lanista::report
