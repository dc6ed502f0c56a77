#pragma once

#include <memory>

#include "lanista/strategy/strategy.h"

namespace lanista::strategy {

/// `inner` with every proposal trained config.repeat times, each with its own seed, and failed trainings done again, up
/// to config.retry of a proposal. The inner sampler sees one trial a proposal, which ends when its trainings are done,
/// is paused while all of them that go on are, and measures, epoch by epoch, the average of all of them as far as all
/// of them got; its trials are numbered 1, 2, … in the order of its proposals. Still a fold: trainings are told apart
/// by Proposal::repeat. A halving composed with it sees the trainings themselves.
std::unique_ptr<Sampler> train_repeatedly(std::unique_ptr<Sampler> inner, const study::StrategyConfig& config);

}  // namespace lanista::strategy
