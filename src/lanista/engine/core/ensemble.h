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
  const study::TrialView* trial = nullptr;  ///< Its view, which outlives this; not null.
  Job job;                                  ///< Its job, for measuring.
  std::string weights;                      ///< Address of its weights in the checkpoint store.
};

/// Candidates that enter an ensemble together: one trial or, with folds, the trainings of one proposal, one for each
/// fold.
using EnsembleModel = std::vector<EnsembleCandidate>;

/// The models that may form an ensemble with the first one, in the given order and with the first one. Each has a
/// training for every fold of the first, sorted in the same order. Of models with equal weights only the first stays.
std::vector<EnsembleModel> eligible_models(std::vector<EnsembleModel> models);

/// The members of an ensemble with their jobs, weights and shares, in order. Every member must be one of the models.
std::vector<EvaluatedMember> evaluated_members(std::span<const EnsembleModel> models, const study::Ensemble& ensemble);

/// Chooses the blend with the best first goal on the validation part (study::select_ensemble). A blend is a list of at
/// most `most` models, with repetitions, and the search begins with the first model alone. If no blend is better, or
/// the goal is not measured on the validation part, the result has the first model only. `validation` of the result has
/// the metrics of the blend; without such a goal it is empty.
///
/// With folds, the trainings of one fold are blended and measured on the validation rows of this fold, which none of
/// them trained on. The metrics of the folds are then averaged. All models must have their folds in the same order.
///
/// The summed violation of all constraints must not exceed that of the first model. A blend's validation metrics are
/// those of the blend, its params and flops the sums over its models, and every other value the worst of its models.
/// The result is a function of the arguments and the executor's numbers. There must be a model and a goal, and all
/// models must have the same number of trainings. Errors: those of Executor::measure and graph::model_cost (kNotFound,
/// kInvalidArgument).
Result<study::Ensemble> choose_ensemble(Executor& executor, const study::StudyConfig& config, const graph::OpTable& ops,
                                        std::span<const EnsembleModel> models, std::int64_t most);

}  // namespace lanista::engine
