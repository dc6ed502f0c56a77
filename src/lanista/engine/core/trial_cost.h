#pragma once

#include <cstdint>
#include <optional>

#include "lanista/io/data/selection_comparison.h"
#include "lanista/io/data/spec.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/trial.h"

// Steps and logical time that a proposal costs: functions of the configuration, the data and the proposal.
namespace lanista::engine {

/// The data that a proposal trains on: those of its fold, or all. A fold that does not exist gives all data; the trial
/// then fails when it starts.
const data::DataSpec& fold_data(const data::DataSpec& data, const study::Proposal& proposal);

/// The selection checks of a proposal; nullopt: it makes none.
std::optional<data::SelectionComparison> selection_checks(const study::StudyConfig& config,
                                                          const study::Proposal& proposal);

/// Steps of each candidate of a start race; 0: no race.
std::int64_t race_steps(const study::StudyConfig& config, const data::DataSpec& data, const study::Proposal& proposal);

/// Most training steps of the epochs `from` + 1 to `to`, with the steps that selection checks and start races discard.
std::int64_t most_steps(const study::StudyConfig& config, const data::DataSpec& data, const study::Proposal& proposal,
                        std::int64_t from, std::int64_t to);

/// Logical duration of one epoch of a proposal: samples x 3 x forward FLOPs of its model.
double logical_epoch_of(const study::StudyConfig& config, const data::DataSpec& data, const study::Proposal& proposal,
                        double forward_flops);

}  // namespace lanista::engine
