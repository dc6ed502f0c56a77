#pragma once

#include <string>

#include "lanista/search/study/study_view.h"

namespace lanista::report {

/// The study as a journal of Optuna's JournalStorage: one JSON object a line; optuna-dashboard opens it as it is.
///
/// `base_time` is the study's beginning in unix seconds, written as UTC. A trial that was trained to its budget is
/// complete, one that was stopped early is pruned, one under way is running, the others have failed. So has a trial
/// whose goal is missing or not finite, because Optuna knows no such value. A duplicate takes state and values of the
/// trial it equals. Intermediate values are those of the first goal by epoch. User attributes tell the rest: state,
/// reason, rank, graph_hash, base, parent, same_as, parameters, epochs, steps, seconds, metrics.
std::string optuna_journal(const study::StudyView& view, double base_time = 0);

}  // namespace lanista::report
