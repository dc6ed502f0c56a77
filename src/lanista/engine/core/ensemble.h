#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/engine/core/executor.h"
#include "lanista/model/graph/op.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/ensemble.h"
#include "lanista/search/study/study_view.h"

namespace lanista::engine {

/// A trained trial that may be a member of an ensemble.
struct EnsembleCandidate {
  const study::TrialView* trial = nullptr;
  Job job;
  std::string weights;  ///< address
};

/// What an ensemble draws at once: a trial, or, with folds, the trainings of a proposal, one a fold.
using EnsembleModel = std::vector<EnsembleCandidate>;

/// Of models, those that an ensemble around the first may draw: with a training for each fold of the first's, in its
/// order of folds, and no copies, whose weights are those of one before.
std::vector<EnsembleModel> eligible_models(std::vector<EnsembleModel> models);

/// What an executor measures: these members with their shares, of whatever models they are.
std::vector<EvaluatedMember> evaluated_members(std::span<const EnsembleModel> models, const study::Ensemble& ensemble);

/// The best blend of at most `most` draws of the models by the study's first goal, as measured on the validation
/// part (study::select_ensemble); the first model is where it begins, and what it has to beat. With folds the trainings
/// of one fold are blended and measured on its rows, which none of them trained on, and the folds are averaged as the
/// study averages trainings; trainings of a place are to be of one fold in all models. A blend must not
/// break a constraint by more than the first model does: of what is measured on the validation part its own values
/// count, of params and flops the sums over its models, and of all else each model's. With `validation` filled in; one
/// model means that no ensemble is better. A goal that is not measured on the validation part has none. A function of
/// its arguments and of the executor's numbers. Errors: those of Executor::measure.
Result<study::Ensemble> choose_ensemble(Executor& executor, const study::StudyConfig& config, const graph::OpTable& ops,
                                        std::span<const EnsembleModel> models, std::int64_t most);

}  // namespace lanista::engine
