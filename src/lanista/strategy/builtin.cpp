#include "lanista/strategy/builtin.h"

#include <algorithm>

#include "lanista/study/metric.h"

namespace lanista::strategy {
namespace {

class NoHalving final : public Halving {
 public:
  void observe(const study::Event&) override {}
  Ruling verdict(TrialId) const override { return kGoOn; }
};

}  // namespace

StoppingPlugin no_stopping_plugin() {
  return {"none",
          "every trial trains to its budget",
          {},
          [](const Judged&, const Options&) -> Result<std::unique_ptr<Halving>> {
            return std::unique_ptr<Halving>(std::make_unique<NoHalving>());
          }};
}

std::vector<StrategyPlugin> builtin_strategies() {
  return {random_plugin(), grid_plugin(),  evolution_plugin(), nsga2_plugin(),        cmaes_plugin(),
          gp_plugin(),     sobol_plugin(), tpe_plugin(),       local_search_plugin(), policy_gradient_plugin()};
}

std::vector<StoppingPlugin> builtin_stopping_rules() {
  return {no_stopping_plugin(), asha_plugin(),     hyperband_plugin(), successive_halving_plugin(),
          median_plugin(),      patience_plugin(), curve_plugin()};
}

std::vector<study::Goal> watched(const std::vector<study::Goal>& goals, const std::string& metric) {
  if (metric.empty()) return goals;
  const auto goal = std::ranges::find(goals, metric, &study::Goal::metric);
  if (goal != goals.end()) return {*goal};
  return {{study::more_is_better(metric).value_or(false), metric}};
}

}  // namespace lanista::strategy
