#pragma once

#include <memory>

#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/earlier_study.h"

namespace lanista::strategy {

/// The same sampler, told of an earlier study's trials as if they were its first ones: proposed, measured, ended, in
/// their order, with numbers from study::kFirstEarlierTrialId on, as what they stand for by `rule`. Its proposals never
/// name one of them as a parent, since there is no such trial in its study. A fold over the events like any other: what
/// was told first is part of the study.
std::unique_ptr<Sampler> with_earlier_trials(std::unique_ptr<Sampler> inner, const study::Earlier& earlier,
                                             const study::SelectionRule& rule);

}  // namespace lanista::strategy
