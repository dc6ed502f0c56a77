#pragma once

#include <cstdint>

#include "lanista/io/data/spec.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/trial.h"

// Steps and logical time that a proposal costs: functions of the configuration, the data and the proposal.
namespace lanista::engine {

/// The description of the data that a proposal trains on: those of its fold, or all data. A fold that does not exist
/// gives all data; the trial then fails when it starts. The reference points into `data`.
const data::DataSpec& fold_data(const data::DataSpec& data, const study::Proposal& proposal);

/// Number of training steps in the epochs `from` + 1 to `to`.
std::int64_t steps_between(const study::StudyConfig& config, const data::DataSpec& data,
                           const study::Proposal& proposal, std::int64_t from, std::int64_t to);

/// Logical duration of one epoch of a proposal, in FLOPs: steps x batch size x 3 x forward FLOPs of its model for one
/// sample (at least 1). The steps are those of an epoch over all rows, also if epochs grow.
double logical_epoch_of(const study::StudyConfig& config, const data::DataSpec& data, const study::Proposal& proposal,
                        double forward_flops);

}  // namespace lanista::engine
