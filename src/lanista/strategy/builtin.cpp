#include "lanista/strategy/builtin.h"

#include <algorithm>

#include "lanista/strategy/enqueued.h"
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

std::optional<Error> beside_own_halving(const StrategyPlugin& plugin, const study::StudyConfig& config) {
  if (!plugin.halves) return std::nullopt;
  const auto refuse = [&](const std::string& key, const std::string& seen, const std::string& allowed) {
    return Error{Code::kInvalidArgument, "is " + seen + "; strategy " + plugin.name + " " + allowed, key};
  };
  if (config.stop.rule != "none") {
    return refuse("stop.rule", "'" + config.stop.rule + "'",
                  "says itself how far trials train, so that it must be none or left out");
  }
  const std::string once = "trains every proposal once, so that it must be ";
  if (config.strategy.repeat > 1) return refuse("strategy.repeat", std::to_string(config.strategy.repeat), once + "1");
  if (config.strategy.retry > 0) return refuse("strategy.retry", std::to_string(config.strategy.retry), once + "0");
  if (config.data.folds) return refuse("data.folds", std::to_string(*config.data.folds), once + "none");
  return std::nullopt;
}

std::vector<StrategyPlugin> builtin_strategies() {
  std::vector<StrategyPlugin> all{random_plugin(), grid_plugin(), evolution_plugin(),    nsga2_plugin(),
                                  cmaes_plugin(),  gp_plugin(),   sobol_plugin(),        tpe_plugin(),
                                  bohb_plugin(),   dehb_plugin(), local_search_plugin(), policy_gradient_plugin()};
  for (StrategyPlugin& plugin : all) plugin.options.push_back(enqueue_option());
  return all;
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
