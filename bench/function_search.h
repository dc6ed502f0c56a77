#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/functions.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// A search that pays by the epoch.
struct FunctionBudget {
  std::vector<std::int64_t> epoch_milestones;  ///< ascending numbers of epochs; the last ends the search
  std::int64_t slots = 1;                      ///< trials under way; each gets an epoch in turn
  std::string rule = "none";                   ///< of builtin_stopping_rules, with its defaults
};

struct FunctionRun {
  /// By mark: how far the truth of the chosen configuration is above the minimum. Chosen is who measured lowest at the
  /// highest epoch so far; what was found stays found when the strategy has no more. Before anything is measured:
  /// infinite.
  std::vector<double> regrets;
  std::int64_t trials = 0;
  double seconds = 0;
};

/// Runs a strategy, with the halving that it has of its own or the budget's rule. The noise belongs to (seed,
/// configuration, epoch). Errors: the strategy's.
Result<FunctionRun> search_function(const TestFunction& function, const strategy::StrategyPlugin& plugin,
                                    const Options& options, const FunctionBudget& budget, std::uint64_t seed);

}  // namespace lanista::bench
