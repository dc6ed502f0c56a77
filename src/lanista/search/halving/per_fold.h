#pragma once

#include <memory>
#include <vector>

#include "lanista/search/sampler/strategy.h"

namespace lanista::search {

/// Returns a halving that compares each training only with trainings on the same fold. Results on different rows are
/// not comparable. `one_a_fold` has one halving for each value of Proposal::fold, all with the same options. Trainings
/// without a fold use the first one. Needs at least one halving.
std::unique_ptr<Halving> halving_per_fold(std::vector<std::unique_ptr<Halving>> one_a_fold);

}  // namespace lanista::search
