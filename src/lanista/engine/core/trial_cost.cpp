#include "lanista/engine/core/trial_cost.h"

#include <algorithm>
#include <utility>

#include "lanista/engine/core/study_setup.h"
#include "lanista/search/study/start_race.h"

namespace lanista::engine {

const data::DataSpec& fold_data(const data::DataSpec& data, const study::Proposal& proposal) {
  const bool known = proposal.fold && *proposal.fold < std::ssize(data.folds);
  return known ? data.folds[static_cast<std::size_t>(*proposal.fold)] : data;
}

std::optional<data::SelectionComparison> selection_checks(const study::StudyConfig& config,
                                                          const study::Proposal& proposal) {
  auto checks = data::selection_comparison(config.train.select, study::full_epochs(proposal));
  return checks ? *std::move(checks) : std::nullopt;  // options were checked when they were read
}

std::int64_t race_steps(const study::StudyConfig& config, const data::DataSpec& data, const study::Proposal& proposal) {
  const std::int64_t wanted = config.train.start.race;
  if (wanted == 0) return 0;
  const study::EpochSchedule epochs = epoch_schedule_of(config, fold_data(data, proposal), proposal.sample);
  return std::min(wanted,
                  epochs.steps_through(1) - 1);  // the last step of an epoch belongs to the trial, for its measurement
}

std::int64_t most_steps(const study::StudyConfig& config, const data::DataSpec& data, const study::Proposal& proposal,
                        std::int64_t from, std::int64_t to) {
  const study::EpochSchedule epochs = epoch_schedule_of(config, fold_data(data, proposal), proposal.sample);
  std::int64_t steps = epochs.steps_through(to) - epochs.steps_through(from);
  if (const auto checks = selection_checks(config, proposal))
    steps += checks->count_checks(from, to) * checks->max_discarded_steps(epochs.length);
  if (from > 0) return steps;
  if (proposal.race) return steps + study::discarded_steps(*proposal.race);
  // Before the trial has a start, its race may have the most parents.
  return steps + (proposal.start ? 0 : race_steps(config, data, proposal) * study::kMaxRaceParents);
}

double logical_epoch_of(const study::StudyConfig& config, const data::DataSpec& data, const study::Proposal& proposal,
                        double forward_flops) {
  const data::DataSpec& rows = fold_data(data, proposal);
  // A backward pass costs about two forward passes. An epoch always has a positive logical duration.
  return static_cast<double>(epoch_schedule_of(config, rows, proposal.sample).length) *
         static_cast<double>(batch_size_of(config, rows, proposal.sample)) * 3 * std::max(forward_flops, 1.0);
}

}  // namespace lanista::engine
