#pragma once

#include <memory>

#include "lanista/search/sampler/strategy.h"

namespace lanista::search {

/// Returns a sampler that trains every proposal of `inner` several times and reports one averaged trial to it.
///
/// Each proposal is trained strategy.repeat times, each time with another seed. With data.folds it is trained on each
/// fold. A failed training is done again on the same fold, up to strategy.retry times per proposal.
///
/// `inner` observes one trial per proposal, with the ids 1, 2, … in the order of its proposals. That trial ends when
/// its trainings are done. It is paused while all unfinished trainings are paused and none is missing. When it pauses
/// or ends, it gets measurements: averages, epoch by epoch, as far as all of its trainings trained. Failed trainings
/// are left out of them. A halving composed with the result observes the trainings themselves.
std::unique_ptr<Sampler> with_repeated_trainings(std::unique_ptr<Sampler> inner, const study::StudyConfig& config);

}  // namespace lanista::search
