#pragma once

#include <memory>

#include "lanista/search/sampler/strategy.h"

namespace lanista::strategy {

/// `inner` with every proposal trained strategy.repeat times, each with its own seed and, with data.folds, on each fold
/// of a dealing of its own, and failed trainings done again on the same fold, up to strategy.retry of a proposal. The
/// inner sampler sees one trial a proposal, which ends when its trainings are done, is paused while all of them that go
/// on are, and measures, epoch by epoch, the average of all of them as far as all of them got; its trials are numbered
/// 1, 2, … in the order of its proposals. Still a fold: trainings are told apart by Proposal::repeat. A halving
/// composed with it sees the trainings themselves.
std::unique_ptr<Sampler> with_repeated_trainings(std::unique_ptr<Sampler> inner, const study::StudyConfig& config);

}  // namespace lanista::strategy
