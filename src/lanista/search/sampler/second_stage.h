#pragma once

#include <memory>
#include <optional>

#include "lanista/search/sampler/strategy.h"

namespace lanista::strategy {

/// `search` with strategy.then behind it. While there is something to search the last `best` new trials are kept from
/// it. When it has nothing left and none of its trials runs, whoever is paused ends, and the best trials of the search,
/// as the study ranks them, are proposed once more as finals (study::refinement_of), in one group. The search never
/// hears of finals; a rule of patience ends them. An extension goes on with the search: behind it those of its best
/// become finals that are none yet, and what was kept for them and is not needed is the search's. Still a fold: what is
/// a final Proposal::tunes tells. Without strategy.then the search itself. Errors: kInvalidArgument at strategy.then
/// (no goal is measured in training).
Result<std::unique_ptr<Strategy>> with_second_stage(std::unique_ptr<Strategy> search, const study::StudyConfig& config,
                                                    std::shared_ptr<const mutate::ModelSpace> models);

/// What in a study does not go with its strategy.then. Nullopt: nothing; else the message, at that key.
std::optional<Error> second_stage_conflict(const study::StudyConfig& config);

}  // namespace lanista::strategy
