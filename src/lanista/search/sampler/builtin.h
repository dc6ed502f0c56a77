#pragma once

#include "lanista/search/sampler/strategy.h"

namespace lanista::strategy {

// One function a plug-in; builtin_strategies and builtin_stopping_rules are the public lists.
StrategyPlugin random_plugin();
StrategyPlugin grid_plugin();
StrategyPlugin evolution_plugin();
StrategyPlugin sobol_plugin();
StrategyPlugin tpe_plugin();
StrategyPlugin local_search_plugin();
StrategyPlugin policy_gradient_plugin();
StrategyPlugin nsga2_plugin();
StrategyPlugin cmaes_plugin();
StrategyPlugin gp_plugin();
StrategyPlugin bohb_plugin();
StrategyPlugin dehb_plugin();
StrategyPlugin pbt_plugin();
StoppingPlugin no_stopping_plugin();
StoppingPlugin asha_plugin();
StoppingPlugin successive_halving_plugin();
StoppingPlugin hyperband_plugin();
StoppingPlugin median_plugin();
StoppingPlugin patience_plugin();
StoppingPlugin curve_plugin();

/// Members of the bottom, and of the top, of so many: the share rounded up, at most half of them.
std::int64_t pbt_quantile(std::int64_t members, double quantile);

/// What a rule compares trials by whose option `on` names this metric; empty: the goals. Goals say which way is better,
/// then what is known of the metric; one that nobody knows is minimised.
std::vector<study::Goal> comparison_goals(const std::vector<study::Goal>& goals, const std::string& metric);

}  // namespace lanista::strategy
