#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/table_curves.h"
#include "bench/table_search.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// The budget and the stopping rule of a search that counts epochs.
struct EpochBudget {
  std::int64_t epochs = 27;                    ///< Epochs of a trial that no rule stops.
  std::int64_t slots = 1;                      ///< Trials that train at a time, one epoch each in turn.
  std::vector<std::int64_t> epoch_milestones;  ///< Ascending numbers of epochs; the last one ends the search.
  std::string rule = "none";  ///< Name in builtin_stopping_rules(); ignored if the strategy has its own halving.
  bool two_goals = false;     ///< Few weights is a second goal.
  std::string on = {};        ///< Metric that the rule compares; empty: all goals.
};

/// The result of a search over epochs.
struct EpochRun {
  /// The result at one milestone.
  struct Found {
    double validation_regret = 0;  ///< Points below the best cell, for the best trial at the highest epoch.
    double volume_regret = 0;      ///< Percent of the front's volume that completely trained trials do not cover.
    double kept = 100;             ///< Percent of the front of all ended trials that was trained to the end.
  };
  std::vector<Found> after;               ///< One for each milestone, also after the strategy has ended.
  std::int64_t trials = 0, finished = 0;  ///< Number of proposals, and of trials that trained to the end.
  double seconds = 0;                     ///< Wall time of the search.
};

/// Runs a strategy on simulated learning curves of the cells of `table` (TableCurves).
///
/// A cell that the table does not have is a failed trial of one epoch. Volumes reach from the front to a corner that is
/// a tenth of the front's extent beyond its nadir. Errors: those of the strategy.
Result<EpochRun> search_epochs(const AccuracyTable& table, const search::StrategyPlugin& plugin, const Options& options,
                               const EpochBudget& budget, std::uint64_t seed);

}  // namespace lanista::bench
