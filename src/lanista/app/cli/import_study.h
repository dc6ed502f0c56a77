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
/// (a file that begins with "{"), or else a CSV table. Adds one note with the number of trials that are used, and why
/// others are left out. Errors: those of load_study and engine::import_trials; kInvalidArgument (no trial fits, with
/// the reasons).
Result<study::Earlier> import_study(const std::string& path, const study::StudyConfig& config,
                                    const data::DataSpec& data, const std::shared_ptr<const mutate::ModelSpace>& models,
                                    std::vector<std::string>& notes);

}  // namespace lanista::cli
