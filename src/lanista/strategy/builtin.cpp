#include "lanista/strategy/builtin.h"

namespace lanista::strategy {
namespace {

class NoStopping final : public StoppingRule {
 public:
  void observe(const study::Event&) override {}
  study::Verdict verdict(TrialId) const override { return study::Verdict::kContinue; }
  std::int64_t next_decision(TrialId, std::int64_t, std::int64_t budget) const override { return budget; }
};

}  // namespace

StoppingPlugin no_stopping_plugin() {
  return {"none",
          "every trial trains to its budget",
          {},
          [](const Judged&, const Options&) -> Result<std::unique_ptr<StoppingRule>> {
            return std::unique_ptr<StoppingRule>(std::make_unique<NoStopping>());
          }};
}

std::vector<StrategyPlugin> builtin_strategies() {
  return {random_plugin(), grid_plugin(),  evolution_plugin(), nsga2_plugin(),        cmaes_plugin(),
          gp_plugin(),     sobol_plugin(), tpe_plugin(),       local_search_plugin(), policy_gradient_plugin()};
}

std::vector<StoppingPlugin> builtin_stopping_rules() { return {no_stopping_plugin(), asha_plugin()}; }

}  // namespace lanista::strategy
