#pragma once

#include <memory>

#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/earlier_study.h"

namespace lanista::search {

/// Returns `inner` after it has observed the trials of an earlier study, as if they were its first ones.
///
/// The trials are proposed, measured and ended in their order. Their ids begin at study::kFirstEarlierTrialId. If
/// `rule` selects the best epoch, their measurements become those of the selected epochs. A proposal that has one of
/// these trials as its parent loses that parent, because the new study has no such trial.
std::unique_ptr<Sampler> with_earlier_trials(std::unique_ptr<Sampler> inner, const study::Earlier& earlier,
                                             const study::SelectionRule& rule);

}  // namespace lanista::search
