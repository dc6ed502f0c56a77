#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/functions.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// The budget and the stopping rule of a search that counts epochs.
struct FunctionBudget {
  std::vector<std::int64_t> epoch_milestones;  ///< Ascending numbers of epochs; the last one ends the search.
  std::int64_t slots = 1;                      ///< Trials that train at a time, one epoch each in turn.
  std::string rule = "none";                   ///< Name in builtin_stopping_rules(), with its default options.
};

/// The result of a search on a test function.
struct FunctionRun {
  /// For each milestone, the true value of the best configuration minus the minimum. Best is the one with the lowest
  /// measurement at the highest epoch so far. Infinite before the first measurement.
  std::vector<double> regrets;
  std::int64_t trials = 0;  ///< Number of proposals.
  double seconds = 0;       ///< Wall time of the search.
};

/// Runs a strategy on `function`, with its own halving or with the rule of the budget.
///
/// The noise of a measurement is a function of seed, configuration and epoch. Errors: those of the strategy.
Result<FunctionRun> search_function(const TestFunction& function, const search::StrategyPlugin& plugin,
                                    const Options& options, const FunctionBudget& budget, std::uint64_t seed);

}  // namespace lanista::bench
