#pragma once

#include "lanista/search/sampler/strategy.h"

namespace lanista::search {

// One function per plug-in. builtin_strategies and builtin_stopping_rules are the public lists.

/// Returns name, options and factory of the sampler: independent random samples (random.cpp).
StrategyPlugin random_plugin();
/// Returns name, options and factory of the sampler: all bases with all samples, in order (grid.cpp).
StrategyPlugin grid_plugin();
/// Returns name, options and factory of the sampler: regularised evolution (evolution.cpp).
StrategyPlugin evolution_plugin();
/// Returns name, options and factory of the sampler: points of a Sobol sequence (sobol.cpp).
StrategyPlugin sobol_plugin();
/// Returns name, options and factory of the sampler: tree-structured Parzen estimator (tpe.cpp).
StrategyPlugin tpe_plugin();
/// Returns name, options and factory of the sampler: hill climbing with restarts (local_search.cpp).
StrategyPlugin local_search_plugin();
/// Returns name, options and factory of the sampler: REINFORCE over all decisions (policy_gradient.cpp).
StrategyPlugin policy_gradient_plugin();
/// Returns name, options and factory of the sampler: NSGA-II for several goals (nsga2.cpp).
StrategyPlugin nsga2_plugin();
/// Returns name, options and factory of the sampler: CMA-ES over the numbers of the space (cmaes.cpp).
StrategyPlugin cmaes_plugin();
/// Returns name, options and factory of the sampler: Bayesian optimisation with Gaussian processes (gp.cpp).
StrategyPlugin gp_plugin();
/// Returns name, options and factory of the sampler: the model of BOHB (bohb.cpp).
StrategyPlugin bohb_plugin();
/// Returns name, options and factory of the sampler: differential evolution with its own halving (dehb.cpp).
StrategyPlugin dehb_plugin();
/// Returns name, options and factory of the sampler: population based training with its own halving (pbt.cpp).
StrategyPlugin pbt_plugin();
/// Returns the plug-in of the halving `none`: every trial trains to its budget (builtin.cpp).
StoppingPlugin no_stopping_plugin();
/// Returns name, options and factory of the stopping rule: asynchronous successive halving (search/halving/asha.cpp).
StoppingPlugin asha_plugin();
/// Returns name, options and factory of the stopping rule: successive halving (search/halving/synchronous.cpp).
StoppingPlugin successive_halving_plugin();
/// Returns name, options and factory of the stopping rule: Hyperband (search/halving/synchronous.cpp).
StoppingPlugin hyperband_plugin();
/// Returns name, options and factory of the stopping rule: median stopping (search/halving/median.cpp).
StoppingPlugin median_plugin();
/// Returns name, options and factory of the stopping rule: early stopping by patience (search/halving/patience.cpp).
StoppingPlugin patience_plugin();
/// Returns name, options and factory of the stopping rule: early stopping by extrapolated learning curves
/// (search/halving/curve.cpp).
StoppingPlugin curve_plugin();

/// Returns how many of `members` are in the bottom quantile, and also in the top one: members times `quantile`, rounded
/// up, at most half of them.
std::int64_t pbt_quantile(std::int64_t members, double quantile);

/// Returns the goals by which a rule with the option `on: metric` compares trials. An empty metric gives `goals`. A
/// metric of a goal gives that goal. Any other metric is maximised if it is known that more is better, else it is
/// minimised.
std::vector<study::Goal> comparison_goals(const std::vector<study::Goal>& goals, const std::string& metric);
/// Returns the goal by which the stopping rule `rule` judges a curve: that of the option `on`, or the first one that is
/// measured in training. Errors: kInvalidArgument (there is none).
Result<study::Goal> curve_goal(const HalvingContext& judged, const Options& options, const std::string& rule);

}  // namespace lanista::search
