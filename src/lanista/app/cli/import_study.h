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

/// What the study that `config` begins takes over of the one in `path`: the folder of a study, a table (.csv), or a
/// journal of Optuna's; `notes` are told how many trials, and why others are not. Errors: those of load_study and
/// engine::import_trials; kInvalidArgument (none fits: why).
Result<study::Earlier> import_study(const std::string& path, const study::StudyConfig& config,
                                    const data::DataSpec& data, const std::shared_ptr<const mutate::ModelSpace>& models,
                                    std::vector<std::string>& notes);

}  // namespace lanista::cli
