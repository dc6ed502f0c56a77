#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/table_curves.h"
#include "bench/table_search.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// A search that pays by the epoch.
struct EpochBudget {
  std::int64_t epochs = 27;                    ///< of a trial that nobody stops
  std::int64_t slots = 1;                      ///< trials under way; each gets an epoch in turn
  std::vector<std::int64_t> epoch_milestones;  ///< ascending numbers of epochs; the last ends the search
  std::string rule = "none";  ///< of builtin_stopping_rules, with its defaults; a strategy's own goes before it
  bool two_goals = false;     ///< few weights is the second goal
  std::string on = {};        ///< the metric by which the rule compares; empty: all goals
};

struct EpochRun {
  /// What was found when so many epochs were spent.
  struct Found {
    double validation_regret = 0;  ///< of the best measurement at the highest epoch so far; by the cell's final value
    double volume_regret = 0;      ///< part of the front's volume that fully trained trials lack, in percent
    double kept = 100;             ///< of the front among all ended trials, by final values: percent fully trained
  };
  std::vector<Found> after;  ///< one for each mark; what was found stays found when the strategy has no more
  std::int64_t trials = 0, finished = 0;
  double seconds = 0;
};

/// Runs a strategy on simulated curves of the table's cells, by a SearchDriver. A cell that the table does not have is
/// a failed trial of one epoch. Volumes are between the front and a corner a tenth of the front's extent beyond its
/// nadir.
Result<EpochRun> search_epochs(const AccuracyTable& table, const strategy::StrategyPlugin& plugin,
                               const Options& options, const EpochBudget& budget, std::uint64_t seed);

}  // namespace lanista::bench
