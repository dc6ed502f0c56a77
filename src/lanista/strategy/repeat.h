#pragma once

#include <memory>

#include "lanista/strategy/strategy.h"

namespace lanista::strategy {

/// `inner` with every proposal trained config.repeat times, each with its own seed, and failed trainings done again, up
/// to config.retry of a proposal. The inner strategy sees one trial a proposal, which ends when its trainings are done
/// and measures, epoch by epoch, the average of all of them as far as all of them got; its trials are numbered 1, 2, …
/// in the order of its proposals. The stopping rule sees the trainings themselves. Still a fold: trainings are told
/// apart by Proposal::repeat.
std::unique_ptr<Strategy> train_repeatedly(std::unique_ptr<Strategy> inner, const study::StrategyConfig& config,
                                           std::unique_ptr<StoppingRule> rule);

}  // namespace lanista::strategy
