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

/// A trained trial that may become a member of an ensemble.
struct EnsembleCandidate {
  const study::TrialView* trial = nullptr;  ///< Its view.
  Job job;                                  ///< Its job.
  std::string weights;                      ///< Address in the checkpoint store.
};

/// Candidates that enter an ensemble together: one trial or, with folds, the trainings of a proposal, one for each
/// fold.
using EnsembleModel = std::vector<EnsembleCandidate>;

/// The models that an ensemble with the first one may use. Each has a training for every fold of the first, in the same
/// order. Models with equal weights are used once.
std::vector<EnsembleModel> eligible_models(std::vector<EnsembleModel> models);

/// The members of an ensemble, found among the models, with their shares.
std::vector<EvaluatedMember> evaluated_members(std::span<const EnsembleModel> models, const study::Ensemble& ensemble);

/// Chooses the blend of at most `most` repetitions of the models with the best first goal on the validation part
/// (study::select_ensemble). The search begins with the first model. A result with one model means that no ensemble is
/// better; so does a goal that is not measured on the validation part. The result has `validation` filled in.
///
/// With folds, the trainings of one fold are blended and measured on its rows, which none of them trained on. The folds
/// are then averaged. The trainings at one position belong to the same fold in all models.
///
/// A blend must not violate a constraint by more than the first model does. Metrics of the validation part count as
/// measured for the blend, params and flops as sums over its models, everything else as the worst of its models. The
/// result is a function of the arguments and the executor's numbers. Errors: those of Executor::measure.
Result<study::Ensemble> choose_ensemble(Executor& executor, const study::StudyConfig& config, const graph::OpTable& ops,
                                        std::span<const EnsembleModel> models, std::int64_t most);

}  // namespace lanista::engine
