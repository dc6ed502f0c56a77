#pragma once

#include <memory>
#include <optional>

#include "lanista/search/sampler/strategy.h"

namespace lanista::search {

/// Returns `search` followed by the second stage of strategy.then, or `search` itself without strategy.then.
///
/// The last `best` new trials are reserved for the second stage. The search is over when it has no members to suggest,
/// also by kResourceExhausted, and none of its trials runs. Then its paused trials end. After that its best trials, in
/// the ranking of the study, are proposed once more as refinements (study::refinement_of), in one group. Refinements
/// end by patience with the number of epochs of strategy.then. The search does not observe them.
///
/// If the study is extended, the search continues. After it, those of its best that have no refinement yet get one.
/// Reserved trials that are not needed go to the search.
/// Errors: kInvalidArgument at strategy.then if no goal is measured in training.
Result<std::unique_ptr<Strategy>> with_second_stage(std::unique_ptr<Strategy> search, const study::StudyConfig& config,
                                                    std::shared_ptr<const mutate::ModelSpace> models);

/// Returns an error at strategy.then if a setting of the study cannot be used with it, or nullopt.
///
/// Such settings are a strategy that forks, train.tune, an adaptive batch, train.select, data.folds, strategy.repeat,
/// implied, and train.start from other than off or file. So are budget.steps, and a schedule, warm-up
/// or batch that is sampled and tuned. budget.trials must be above `best`, and may be left out in a finite space only.
std::optional<Error> second_stage_conflict(const study::StudyConfig& config);

}  // namespace lanista::search
