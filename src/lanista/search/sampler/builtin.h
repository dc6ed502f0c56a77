#pragma once

#include "lanista/search/sampler/strategy.h"

namespace lanista::strategy {

// One function per plug-in. builtin_strategies and builtin_stopping_rules are the public lists.

/// Independent random samples (random.cpp).
StrategyPlugin random_plugin();
/// All bases with all samples, in order (grid.cpp).
StrategyPlugin grid_plugin();
/// Regularised evolution (evolution.cpp).
StrategyPlugin evolution_plugin();
/// Points of a Sobol sequence (sobol.cpp).
StrategyPlugin sobol_plugin();
/// Tree-structured Parzen estimator (tpe.cpp).
StrategyPlugin tpe_plugin();
/// Hill climbing with restarts (local_search.cpp).
StrategyPlugin local_search_plugin();
/// REINFORCE over all decisions (policy_gradient.cpp).
StrategyPlugin policy_gradient_plugin();
/// NSGA-II for several goals (nsga2.cpp).
StrategyPlugin nsga2_plugin();
/// CMA-ES over the numbers of the space (cmaes.cpp).
StrategyPlugin cmaes_plugin();
/// Bayesian optimisation with Gaussian processes (gp.cpp).
StrategyPlugin gp_plugin();
/// The model of BOHB (bohb.cpp).
StrategyPlugin bohb_plugin();
/// Differential evolution with its own halving (dehb.cpp).
StrategyPlugin dehb_plugin();
/// Population based training with its own halving (pbt.cpp).
StrategyPlugin pbt_plugin();
/// The rule `none`: every trial trains to its budget (builtin.cpp).
StoppingPlugin no_stopping_plugin();
/// Asynchronous successive halving (search/halving/asha.cpp).
StoppingPlugin asha_plugin();
/// Successive halving (search/halving/synchronous.cpp).
StoppingPlugin successive_halving_plugin();
/// Hyperband (search/halving/synchronous.cpp).
StoppingPlugin hyperband_plugin();
/// Median stopping (search/halving/median.cpp).
StoppingPlugin median_plugin();
/// Early stopping by patience (search/halving/patience.cpp).
StoppingPlugin patience_plugin();
/// Early stopping by extrapolated learning curves (search/halving/curve.cpp).
StoppingPlugin curve_plugin();

/// Returns how many of `members` are in the bottom or the top quantile: the share rounded up, at most half of them.
std::int64_t pbt_quantile(std::int64_t members, double quantile);

/// Returns the goals by which a rule with the option `on: metric` compares trials.
///
/// An empty metric gives `goals`. A metric of a goal gives that goal. Any other metric is maximised if it is known that
/// more is better, else it is minimised.
std::vector<study::Goal> comparison_goals(const std::vector<study::Goal>& goals, const std::string& metric);

}  // namespace lanista::strategy
