#pragma once

#include <string>

#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/engine/core/package.h"
#include "lanista/search/study/assessment.h"

namespace lanista::runtime {

/// Which weights a package predicts with: equal for packages that predict the same.
std::string identity_of(const engine::ModelPackage& package);

/// What a study's winner, or the ensemble around it, does with the rows of the validation part, and of the test part if
/// the study has measured that
/// (`tested`). `data` is the study's, open as its trials saw it; with folds, the parts of a training's package are
/// those of its fold; of a package of several trainings, each answers for its own validation rows (so every row that is
/// dealt is predicted by a model that did not train on it), and all together for the test part. A function of package
/// and data alone, with the study's own bits. Time: one evaluation of the parts; memory: a thousand rows of features,
/// and of numbers eight a row. Errors: Predictor::create's; kInvalidArgument (data of other classes or outputs than the
/// package's).
Result<study::ModelAssessment> assess_model(const engine::ModelPackage& package, const data::Dataset& data,
                                            bool tested);

}  // namespace lanista::runtime
