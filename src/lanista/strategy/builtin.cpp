#include "lanista/strategy/builtin.h"

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

std::vector<StoppingPlugin> builtin_stopping_rules() { return {no_stopping_plugin(), asha_plugin(), median_plugin()}; }

}  // namespace lanista::strategy
