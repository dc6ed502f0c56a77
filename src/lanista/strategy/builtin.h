#pragma once

#include "lanista/strategy/strategy.h"

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
StoppingPlugin no_stopping_plugin();
StoppingPlugin asha_plugin();
StoppingPlugin median_plugin();

}  // namespace lanista::strategy
