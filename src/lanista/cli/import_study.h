#pragma once

#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/data/spec.h"
#include "lanista/mutate/model_space.h"
#include "lanista/study/config.h"
#include "lanista/study/earlier.h"

namespace lanista::cli {

/// What the study that `config` begins takes over of the one in `folder`; `notes` are told how many trials, and why
/// others are not. Errors: those of load_study and engine::take_over; kInvalidArgument (none fits: why).
Result<study::Earlier> import_study(const std::string& folder, const study::StudyConfig& config,
                                    const data::DataSpec& data, const mutate::ModelSpace& models,
                                    std::vector<std::string>& notes);

}  // namespace lanista::cli
