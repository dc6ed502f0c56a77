#pragma once

#include <string>

#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// What a study would search, as comments of a study file: how many samples there are, whether mutations go beyond
/// them, five random samples with their models, and the shapes inside the first model.
std::string space_preview(const study::StudyConfig& config, const mutate::ModelSpace& models);

/// What to tell who begins a study in which nothing varies, or the base model alone: how few trials there are to train,
/// and what to add. Empty where there is something to search.
std::string no_variation_hint(const study::StudyConfig& config, const mutate::ModelSpace& models);

}  // namespace lanista::studyfile
