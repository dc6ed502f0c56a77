#pragma once

#include <string>

#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// A description of the search space of a study, as comment lines of a study file. It has the number of samples and of
/// mutators, and five random samples with the size of their models. For the first model it has the shapes of all nodes.
std::string space_preview(const study::StudyConfig& config, const mutate::ModelSpace& models);

/// A text for users if nothing but the base model varies in a study: the number of different trials, and a setting to
/// add. Empty if a mutator, a choice or a hyper-parameter varies, or the strategy repeats trials.
std::string no_variation_hint(const study::StudyConfig& config, const mutate::ModelSpace& models);

}  // namespace lanista::studyfile
