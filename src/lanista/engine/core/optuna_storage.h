#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/engine/core/external_trials.h"
#include "lanista/search/study/config.h"

namespace lanista::engine {

/// Reads the complete trials of a study in an Optuna JournalStorage file, in order; the values get the metric names of
/// `goals`. `study` is the name of the study; empty: the file has one study only.
///
/// With one goal it also reads pruned trials, with their last reported value and its step as the epoch (-1 if the step
/// is below 1). Failed and running trials are left out. Infinity and NaN are read as such. An invalid last line without
/// a line end is ignored, as in Optuna. Errors: kDataLoss (an invalid line, with "line N" in `where`), kInvalidArgument
/// (several studies and no name, an unknown name, or a number of objectives or directions that differ from the goals).
Result<std::vector<ExternalTrial>> read_optuna_trials(std::string_view text, const std::vector<study::Goal>& goals,
                                                      const std::string& study = "");

/// True if the bytes are those of an SQLite file.
bool is_sqlite(std::string_view bytes);

/// Reads the trials of a study in an Optuna RDBStorage file of SQLite with schema version 12, as read_optuna_trials().
/// The file is not changed. Another user may have written it. Errors: kDataLoss (no such storage), kUnimplemented
/// (another schema version), kFailedPrecondition (changes are in a journal file next to it), kInvalidArgument as for
/// read_optuna_trials(), those of zoo::Database.
Result<std::vector<ExternalTrial>> read_optuna_database(const std::string& path, const std::vector<study::Goal>& goals,
                                                        const std::string& study = "");

}  // namespace lanista::engine
