#pragma once

#include <string>

#include "lanista/base/result.h"
#include "lanista/engine/core/package.h"
#include "lanista/io/data/dataset.h"
#include "lanista/search/study/assessment.h"

namespace lanista::inference {

/// A hash of the weights that a package predicts with, as hexadecimal text, from the hashes in its facts. Packages with
/// equal weights and shares have equal identities. Empty: the package of one model has no recorded hash. A member of an
/// ensemble without one counts with an empty hash.
std::string identity_of(const engine::ModelPackage& package);

/// Measures a study's winner, or its ensemble, on the validation part, and also on the test part if `tested` is true. A
/// part without rows is left out. `package` must come from a study, so that its facts name the trial. `data` is the
/// study's data, opened as its trials saw them. The result is a function of package and data, with the bits of the
/// study.
///
/// With folds, the package of one training uses the parts of its fold. In a package of several trainings each training
/// predicts its own validation rows, so no row is predicted by a model that trained on it. On the test part all
/// trainings are blended.
///
/// Time: one evaluation of the parts. Memory: a thousand rows of features, and eight bytes for each predicted number.
/// Errors: those of Predictor::create (kDataLoss, kUnimplemented), kInvalidArgument (the data have another hash, other
/// folds, classes or outputs than the package).
Result<study::ModelAssessment> assess_model(const engine::ModelPackage& package, const data::Dataset& data,
                                            bool tested);

}  // namespace lanista::inference
