#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/spec.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/earlier_study.h"

namespace lanista::cli {

/// Returns the results of earlier trials that fit the new study `config`. `path` is a study folder, an Optuna journal
/// (a file that begins with "{"), an Optuna storage in SQLite, or else a CSV table. `name` is the study of an Optuna
/// file; empty: the only one. Adds one note with the number of trials that are used, and why others are left out.
/// Errors: those of load_study, engine::read_optuna_database and engine::import_trials; kInvalidArgument (no trial
/// fits, with the reasons; a name for a file that has no named studies).
Result<study::Earlier> import_study(const std::string& path, const std::string& name, const study::StudyConfig& config,
                                    const data::DataSpec& data, const std::shared_ptr<const mutate::ModelSpace>& models,
                                    std::vector<std::string>& notes);

}  // namespace lanista::cli
