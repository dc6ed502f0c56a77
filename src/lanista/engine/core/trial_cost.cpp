#include "lanista/engine/core/trial_cost.h"

#include <algorithm>

#include "lanista/engine/core/study_setup.h"

namespace lanista::engine {

const data::DataSpec& fold_data(const data::DataSpec& data, const study::Proposal& proposal) {
  const bool known = proposal.fold && *proposal.fold < std::ssize(data.folds);
  return known ? data.folds[static_cast<std::size_t>(*proposal.fold)] : data;
}

std::int64_t steps_between(const study::StudyConfig& config, const data::DataSpec& data,
                           const study::Proposal& proposal, std::int64_t from, std::int64_t to) {
  const study::EpochSchedule epochs = epoch_schedule_of(config, fold_data(data, proposal), proposal.sample);
  return epochs.steps_through(to) - epochs.steps_through(from);
}

double logical_epoch_of(const study::StudyConfig& config, const data::DataSpec& data, const study::Proposal& proposal,
                        double forward_flops) {
  const data::DataSpec& rows = fold_data(data, proposal);
  // A backward pass costs about two forward passes. An epoch always has a positive logical duration.
  return static_cast<double>(epoch_schedule_of(config, rows, proposal.sample).length) *
         static_cast<double>(batch_size_of(config, rows, proposal.sample)) * 3 * std::max(forward_flops, 1.0);
}

}  // namespace lanista::engine
