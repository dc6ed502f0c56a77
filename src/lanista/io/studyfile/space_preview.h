#pragma once

#include <string>

#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// The search space of a study as comments of a study file: the number of samples, whether mutations go beyond them,
/// five random samples with their models, and the shapes inside the first model.
std::string space_preview(const study::StudyConfig& config, const mutate::ModelSpace& models);

/// A hint for a study in which nothing varies, or only the base model: the number of different trials and what to add.
/// Empty if there is something to search.
std::string no_variation_hint(const study::StudyConfig& config, const mutate::ModelSpace& models);

}  // namespace lanista::studyfile
