#include "bench/tabular_arms.h"

#include <cmath>
#include <utility>

namespace lanista::bench {
namespace {

// The arm of a built-in strategy.
Result<StrategyArm> strategy_arm(const std::string& name, int seeds_divisor, const nlohmann::json& options) {
  for (search::StrategyPlugin& plugin : search::builtin_strategies()) {
    if (plugin.name != name) continue;
    LANISTA_ASSIGN(Options resolved, resolve_options(options, plugin.options));
    return StrategyArm{name, seeds_divisor, std::move(plugin), std::move(resolved)};
  }
  return Error{Code::kInternal, "there is no strategy '" + name + "'", ""};
}

}  // namespace

Result<std::vector<StrategyArm>> strategy_arms(const std::string& only, bool with_epochs) {
  std::vector<StrategyArm> all;
  for (const char* name : {"random", "evolution", "local_search", "tpe", "policy_gradient", "nsga2"}) {
    LANISTA_ASSIGN(StrategyArm one, strategy_arm(name, 1, nlohmann::json::object()));
    all.push_back(std::move(one));
  }
  if (with_epochs) {
    for (const char* name : {"bohb", "dehb"}) {
      LANISTA_ASSIGN(StrategyArm one, strategy_arm(name, 1, nlohmann::json::object()));
      all.push_back(std::move(one));
    }
  }
  LANISTA_ASSIGN(StrategyArm gp, strategy_arm("gp", 10, {{"refit", 10}, {"candidates", 128}}));
  all.push_back(std::move(gp));
  std::string known;
  for (const StrategyArm& one : all) known += (known.empty() ? "" : ", ") + one.name;
  if (!only.empty()) std::erase_if(all, [&](const StrategyArm& one) { return one.name != only; });
  if (all.empty()) {
    return Error{Code::kInvalidArgument, "strategy is '" + only + "'; allowed on a table are " + known, "--strategy"};
  }
  return all;
}

MeanAndDeviation mean_of(const std::vector<double>& values) {
  MeanAndDeviation out;
  for (const double x : values) out.mean += x / static_cast<double>(values.size());
  for (const double x : values) out.deviation += (x - out.mean) * (x - out.mean);
  out.deviation = values.size() < 2 ? 0 : std::sqrt(out.deviation / static_cast<double>(values.size() - 1));
  return out;
}

}  // namespace lanista::bench
