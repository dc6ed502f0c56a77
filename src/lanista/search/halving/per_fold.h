#pragma once

#include <memory>
#include <vector>

#include "lanista/search/sampler/strategy.h"

namespace lanista::strategy {

/// Judges each training among those that validate on the same fold: numbers of different rows tell nothing about
/// models. `one_a_fold`: a halving for every Proposal::fold, made alike. Trainings without a fold go to the first.
std::unique_ptr<Halving> halving_per_fold(std::vector<std::unique_ptr<Halving>> one_a_fold);

}  // namespace lanista::strategy
